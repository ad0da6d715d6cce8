//! Exact solution of the assignment problem by the Hungarian method (shortest augmenting paths).
//!
//! H. W. Kuhn, Naval Research Logistics Quarterly 2 (1955), <https://doi.org/10.1002/nav.3800020109>.

/// Weights `(n_lines, n_columns)`, row-major; at most as many lines as columns.
pub(crate) struct Weights {
    pub(crate) values: Vec<i64>,
    pub(crate) n_lines: usize,
    pub(crate) n_columns: usize,
}

/// Assignment of a different column to every line, with the largest total weight.
///
/// The potentials prove optimality: `u[line] + v[column] <= -weight` everywhere, with equality for the assigned pairs
/// ("tight" pairs). All optimal assignments of a square matrix consist of tight pairs.
pub(crate) struct Assignment<'a> {
    weights: &'a Weights,
    pub(crate) column_of: Vec<usize>,
    u: Vec<i64>,
    v: Vec<i64>,
}

impl<'a> Assignment<'a> {
    /// Returns an optimal assignment, in `O(n_lines² n_columns)` steps.
    pub(crate) fn best(weights: &'a Weights) -> Self {
        let (n, m) = (weights.n_lines, weights.n_columns);
        let (mut u, mut v) = (vec![0; n], vec![0; m]);
        let mut line_of: Vec<Option<usize>> = vec![None; m];
        for new_line in 0..n {
            // Dijkstra's algorithm over reduced costs, from the new line to the nearest free column.
            let mut distance = vec![i64::MAX; m];
            let mut before: Vec<Option<usize>> = vec![None; m];
            let mut settled: Vec<usize> = Vec::new();
            let mut open: Vec<usize> = (0..m).collect();
            let (mut line, mut reached, mut at) = (new_line, 0, None);
            let end = loop {
                let mut nearest = 0;
                for (i, &column) in open.iter().enumerate() {
                    let cost = -weights.values[line * m + column] - u[line] - v[column];
                    if reached + cost < distance[column] {
                        (distance[column], before[column]) = (reached + cost, at);
                    }
                    // Ties go to the smaller column, because `open` is unordered.
                    let key = |column: usize| (distance[column], column);
                    if key(column) < key(open[nearest]) {
                        nearest = i;
                    }
                }
                let column = open.swap_remove(nearest);
                reached = distance[column];
                match line_of[column] {
                    None => break column,
                    Some(next) => (line, at) = (next, Some(column)),
                }
                settled.push(column);
            };
            u[new_line] += reached;
            for column in settled {
                let slack = reached - distance[column];
                v[column] -= slack;
                if let Some(line) = line_of[column] {
                    u[line] += slack;
                }
            }
            // Shift the assignments along the path.
            let mut column = end;
            while let Some(previous) = before[column] {
                line_of[column] = line_of[previous];
                column = previous;
            }
            line_of[column] = Some(new_line);
        }
        let mut column_of = vec![0; n];
        for (column, line) in line_of.into_iter().enumerate() {
            if let Some(line) = line {
                column_of[line] = column;
            }
        }
        Self { weights, column_of, u, v }
    }

    pub(crate) fn total(&self) -> i64 {
        let weight = |(line, &column)| self.weights.values[line * self.weights.n_columns + column];
        self.column_of.iter().enumerate().map(weight).sum()
    }

    /// Returns the optimal assignment of a square matrix whose `column_of` is lexicographically smallest, in `O(n³)` steps.
    pub(crate) fn lexicographically_smallest(mut self) -> Vec<usize> {
        let n = self.weights.n_lines;
        let mut line_of = vec![0; n];
        for (line, &column) in self.column_of.iter().enumerate() {
            line_of[column] = line;
        }
        for line in 0..n {
            // Finds the later lines that can pass on their column over tight pairs until the column given up by `line` is taken;
            // `takes[other]` is the column that `other` then takes.
            let given_up = self.column_of[line];
            let mut takes: Vec<Option<usize>> = vec![None; n];
            let mut wanted = vec![given_up];
            while let Some(column) = wanted.pop() {
                for (other, takes) in takes.iter_mut().enumerate().skip(line + 1) {
                    if takes.is_none() && self.is_tight(other, column) {
                        *takes = Some(column);
                        wanted.push(self.column_of[other]);
                    }
                }
            }
            let better = (0..given_up)
                .find(|&column| takes[line_of[column]].is_some() && self.is_tight(line, column));
            let (mut taker, mut taken) = (line, better);
            while let Some(column) = taken {
                self.column_of[taker] = column;
                taker = std::mem::replace(&mut line_of[column], taker);
                taken = if column == given_up { None } else { takes[taker] };
            }
        }
        self.column_of
    }

    fn is_tight(&self, line: usize, column: usize) -> bool {
        let weight = self.weights.values[line * self.weights.n_columns + column];
        self.u[line] + self.v[column] == -weight
    }
}
