//! Weighted sums over the rows of every cluster and view, the sufficient statistics of the M step.

use crate::model::kernel::CACHE_LINE;

/// Sums of all clusters over all views.
#[derive(Debug, Clone)]
pub(crate) struct Moments {
    /// `Σᵢ Rᵢ꜀` over all samples.
    pub(crate) sizes: Vec<f64>,
    pub(crate) views: Vec<ViewMoments>,
}

/// Sums over the observed rows z of a view; w is R u or R.
#[derive(Debug, Clone)]
pub(crate) struct ViewMoments {
    pub(crate) width: usize,
    /// `N꜀ = Σᵢ Rᵢ꜀`.
    pub(crate) sizes: Vec<f64>,
    /// `Σ w`.
    pub(crate) weights: Vec<f64>,
    /// `(n_clusters, q)`: `Σ w z`.
    pub(crate) first: Vec<f64>,
    /// `(n_clusters, q, stride)`: lower triangles of `Σ w z zᵀ`.
    pub(crate) second: Vec<f64>,
}

impl Moments {
    pub(crate) fn zeros(n_clusters: usize, widths: &[usize]) -> Self {
        let view = |&q: &usize| ViewMoments {
            width: q,
            sizes: vec![0.0; n_clusters],
            weights: vec![0.0; n_clusters],
            first: vec![0.0; n_clusters * q],
            second: vec![0.0; n_clusters * q * q.next_multiple_of(CACHE_LINE)],
        };
        Self { sizes: vec![0.0; n_clusters], views: widths.iter().map(view).collect() }
    }

    pub(crate) fn n_clusters(&self) -> usize {
        self.sizes.len()
    }

    pub(crate) fn add(&mut self, factor: f64, other: &Self) {
        add(&mut self.sizes, factor, &other.sizes);
        for (to, from) in self.views.iter_mut().zip(&other.views) {
            for (to, from) in to.parts_mut().into_iter().zip(from.parts()) {
                add(to, factor, from);
            }
        }
    }

    /// Returns the sums under `(1 - share) R + share / n_clusters`.
    #[must_use]
    pub(crate) fn mixed_with_uniform(&self, share: f64) -> Self {
        let k = self.n_clusters();
        let all: Vec<usize> = (0..k).collect();
        let mut mixed = self.merged(&vec![all; k]);
        mixed.scale(share / k as f64);
        mixed.add(1.0 - share, self);
        mixed
    }

    /// Returns the sums with each of `groups`, a set of clusters, merged into one.
    #[must_use]
    pub(crate) fn merged(&self, groups: &[Vec<usize>]) -> Self {
        let k = self.n_clusters();
        let merge = |from: &[f64]| {
            let size = from.len() / k;
            let mut to = vec![0.0; groups.len() * size];
            for (to, group) in to.chunks_exact_mut(size.max(1)).zip(groups) {
                group.iter().for_each(|&c| add(to, 1.0, &from[c * size..(c + 1) * size]));
            }
            to
        };
        let view = |view: &ViewMoments| ViewMoments {
            width: view.width,
            sizes: merge(&view.sizes),
            weights: merge(&view.weights),
            first: merge(&view.first),
            second: merge(&view.second),
        };
        Self { sizes: merge(&self.sizes), views: self.views.iter().map(view).collect() }
    }

    /// Appends the clusters of `other`.
    pub(crate) fn append(&mut self, other: &Self) {
        self.sizes.extend(&other.sizes);
        for (to, from) in self.views.iter_mut().zip(&other.views) {
            let ViewMoments { sizes, weights, first, second, .. } = to;
            let parts = [sizes, weights, first, second];
            parts.into_iter().zip(from.parts()).for_each(|(to, from)| to.extend(from));
        }
    }

    pub(crate) fn scale(&mut self, factor: f64) {
        self.sizes.iter_mut().for_each(|x| *x *= factor);
        for part in self.views.iter_mut().flat_map(ViewMoments::parts_mut) {
            part.iter_mut().for_each(|x| *x *= factor);
        }
    }
}

impl ViewMoments {
    fn parts(&self) -> [&[f64]; 4] {
        [&self.sizes, &self.weights, &self.first, &self.second]
    }

    /// Returns whether both have the same number of clusters and coordinates.
    pub(crate) fn has_shape_of(&self, other: &Self) -> bool {
        self.parts().iter().map(|part| part.len()).eq(other.parts().iter().map(|part| part.len()))
    }

    fn parts_mut(&mut self) -> [&mut [f64]; 4] {
        [&mut self.sizes, &mut self.weights, &mut self.first, &mut self.second]
    }
}

fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, x)| *to += factor * x);
}
