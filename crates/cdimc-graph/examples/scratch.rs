#![allow(missing_docs, clippy::all, clippy::pedantic, clippy::unwrap_used, clippy::print_stdout)]
use cdimc_graph::*;
use ndarray::*;
use std::time::Instant;
fn load(p: &str, m: usize) -> Array2<f64> {
    let b = std::fs::read(p).unwrap();
    let v: Vec<f64> =
        b.chunks_exact(8).map(|c| f64::from_le_bytes(c.try_into().unwrap())).collect();
    let n = v.len() / m;
    Array2::from_shape_vec((n, m), v).unwrap()
}
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = s.rsplit(')').next().unwrap().split_whitespace().collect();
    f[11].parse::<f64>().unwrap() / 100.0
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let search = match a[1].as_str() {
        "kd" => Search::KdTree,
        "ex" => Search::Exhaustive,
        _ => Search::Auto,
    };
    if a[2] == "hw" {
        let mut tot = 0.0;
        for (v, m) in [240, 76, 216, 47, 64].into_iter().enumerate() {
            let x = load(&format!("/tmp/graph_hw{v}.bin"), m);
            let c = cpu();
            let t = Instant::now();
            let reps = 10;
            for _ in 0..reps {
                let r = nearest(x.view(), 10, search).unwrap();
                std::hint::black_box(r);
            }
            let u = (cpu() - c) / reps as f64;
            tot += u;
            println!(
                "view {v} {m}: user {:.4} wall {:.4}",
                u,
                t.elapsed().as_secs_f64() / reps as f64
            );
        }
        println!("total user {tot:.4}");
    }
    if a[2] == "mnist" {
        let n: usize = a[3].parse().unwrap();
        let b = std::fs::read("/tmp/graph_mnist.u8").unwrap();
        let x = Array2::from_shape_fn((n, 784), |(i, j)| b[i * 784 + j] as f64 / 255.0);
        drop(b);
        let c = cpu();
        let t = Instant::now();
        let r = nearest(x.view(), 10, search).unwrap();
        println!(
            "mnist {n}: user {:.2} wall {:.2} sum {}",
            cpu() - c,
            t.elapsed().as_secs_f64(),
            r.squared_distances.sum()
        );
        let s = std::fs::read_to_string("/proc/self/status").unwrap();
        println!("{}", s.lines().find(|l| l.starts_with("VmHWM")).unwrap());
    }
}
