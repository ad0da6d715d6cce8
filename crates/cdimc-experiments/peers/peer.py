"""The peer of `cargo xtask bench`: the same work in plain PyTorch and scikit-learn.

Reads a case as one line of JSON on standard input, measures it and prints one line of JSON.
Written from the paper and its specification: per-view autoencoders m, h, h, wide, k with Glorot weights, masked
reconstruction plus a Laplacian term in pre-training, distance to frozen centers plus that term in fine-tuning.
Absent rows pass through the network with weight zero, which is what a user of PyTorch writes.
"""

import json
import os
import resource
import sys
import time

case = json.loads(sys.stdin.readline())
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = str(case["threads"])

import numpy as np  # noqa: E402  (the number of threads must be set first)


def read_views():
    """Raw views, NaN where unobserved, and the mask (n_samples, n_views)."""
    n = case["n_samples"]
    views = [
        np.fromfile(f"{case['folder']}/view{v}.f64").reshape(n, m) for v, m in enumerate(case["widths"])
    ]
    mask = np.stack([~np.isnan(x[:, 0]) for x in views], axis=1)
    return views, mask


def geometry(x, present):
    """Absent rows filled with the column means, then unit rows; a zero row stays zero."""
    x = np.where(present[:, None], x, x[present].mean(axis=0))
    norm = np.sqrt((x * x).sum(axis=1, keepdims=True))
    return x / np.where(norm == 0, 1, norm)


def standardized(x, present):
    """Columns centered and scaled over the present rows; zeros elsewhere; single precision."""
    seen = x[present]
    scale = seen.std(axis=0)
    scale[scale < 10 * np.finfo(float).eps] = 1
    out = np.zeros(x.shape, np.float32)
    out[present] = (seen - seen.mean(axis=0)) / scale
    return out


def graph(x, present, neighbors):
    """Symmetric 0/1 matrix of the nearest neighbors among the present rows, sparse."""
    import scipy.sparse as sparse
    from sklearn.neighbors import NearestNeighbors

    rows = np.flatnonzero(present)
    found = NearestNeighbors(n_neighbors=neighbors).fit(x[rows]).kneighbors(return_distance=False)
    i = np.repeat(rows, neighbors)
    j = rows[found.ravel()]
    a = sparse.coo_matrix((np.ones(len(i), np.float32), (i, j)), shape=(len(x), len(x))).tocsr()
    return a.maximum(a.T).tocsr()


def ring(present, neighbors):
    """A cheap graph of the same size: every present row with those that follow it."""
    import scipy.sparse as sparse

    rows = np.flatnonzero(present)
    half = neighbors // 2
    i = np.concatenate([rows[:-d] for d in range(1, half + 1)])
    j = np.concatenate([rows[d:] for d in range(1, half + 1)])
    a = sparse.coo_matrix((np.ones(len(i), np.float32), (i, j)), shape=(len(present), len(present))).tocsr()
    return a.maximum(a.T).tocsr()


def batches():
    n, b = case["n_samples"], case["batch_size"]
    return [slice(start, min(start + b, n)) for start in range(0, n, b)]


def laplacians(graphs, batch_slices):
    """Dense Laplacian of every batch and view, made once."""
    import torch

    def one(a, s):
        block = a[s, s].toarray()
        return torch.from_numpy(np.diag(block.sum(axis=1)) - block)

    return [[one(a, s) for a in graphs] for s in batch_slices]


class Network:
    """Encoders and decoders of all views as lists of (weight, bias)."""

    def __init__(self):
        import torch

        flat = np.fromfile(f"{case['folder']}/weights.f32", np.float32)
        at = 0
        self.encoders, self.decoders = [], []
        for shapes in case["layers"]:
            chains = []
            for chain in shapes:
                layers = []
                for n_out, n_in in chain:
                    w = flat[at : at + n_out * n_in].reshape(n_out, n_in).copy()
                    at += n_out * n_in
                    b = flat[at : at + n_out].copy()
                    at += n_out
                    layers.append((torch.from_numpy(w).requires_grad_(), torch.from_numpy(b).requires_grad_()))
                chains.append(layers)
            self.encoders.append(chains[0])
            self.decoders.append(chains[1])

    def parameters(self):
        return [p for chain in self.encoders + self.decoders for layer in chain for p in layer]

    @staticmethod
    def chain(layers, x):
        import torch.nn.functional as F

        for i, (w, b) in enumerate(layers):
            x = F.linear(x, w, b)
            if i + 1 < len(layers):
                x = F.relu(x)
        return x

    def fuse(self, xs, w):
        zs = [self.chain(layers, x) for layers, x in zip(self.encoders, xs)]
        fused = sum(z * w[:, v : v + 1] for v, z in enumerate(zs)) / w.sum(dim=1, keepdim=True)
        return zs, fused


def graph_term(zs, blocks, n_rows):
    total = sum((z * (lap @ z)).sum() for z, lap in zip(zs, blocks))
    return case["alpha"] * total / (len(zs) * n_rows)


def pretrain_epoch(network, optimizer, xs, w, slices, laps):
    losses = []
    for s, blocks in zip(slices, laps):
        batch = [x[s] for x in xs]
        weight = w[s]
        zs, fused = network.fuse(batch, weight)
        loss = graph_term(zs, blocks, len(weight))
        for v, x in enumerate(batch):
            error = (network.chain(network.decoders[v], fused) - x) * weight[:, v : v + 1]
            loss = loss + (error * error).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return float(np.mean(losses))


def finetune_epoch(network, optimizer, xs, w, slices, laps, centers, labels, selected):
    losses = []
    for s, blocks in zip(slices, laps):
        batch = [x[s] for x in xs]
        zs, fused = network.fuse(batch, w[s])
        r = selected[s]
        distance = ((fused - centers[labels[s]]) ** 2).sum(dim=1)
        loss = graph_term(zs, blocks, len(r))
        if r.sum() > 0:
            loss = loss + (r * distance).sum() / (centers.shape[1] * r.sum())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return float(np.mean(losses))


def setup(views, mask, order):
    """Standardized views and the mask as tensors, in training order."""
    import torch

    present = mask[order]
    xs = [torch.from_numpy(standardized(x[order], present[:, v])) for v, x in enumerate(views)]
    return xs, torch.from_numpy(present.astype(np.float32))


def optimizers(network):
    import torch

    sgd = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.95)
    adam = torch.optim.Adam(network.parameters(), lr=1e-4)
    return sgd, adam


def timed(action, times):
    seconds, values = [], []
    for _ in range(times):
        start = time.perf_counter()
        values.append(action())
        seconds.append(time.perf_counter() - start)
    return seconds, values


def epochs(stage):
    import torch

    torch.set_num_threads(case["threads"])
    views, mask = read_views()
    xs, w = setup(views, mask, slice(None))
    network = Network()
    slices = batches()
    laps = laplacians([ring(mask[:, v], case["neighbors"]) for v in range(len(views))], slices)
    sgd, adam = optimizers(network)
    if stage == "pretrain":
        return timed(lambda: pretrain_epoch(network, sgd, xs, w, slices, laps), case["times"])
    k = case["n_clusters"]
    centers = torch.from_numpy(np.fromfile(f"{case['folder']}/centers.f32", np.float32).reshape(k, k))
    labels = torch.arange(len(w)) % k
    selected = torch.ones(len(w))
    epoch = lambda: finetune_epoch(network, adam, xs, w, slices, laps, centers, labels, selected)  # noqa: E731
    return timed(epoch, case["times"])


def whole_run():
    """Preparation to labels: arrangement, graphs, pre-training, k-means, self-paced fine-tuning."""
    import torch
    from sklearn.cluster import KMeans

    torch.set_num_threads(case["threads"])
    views, mask = read_views()
    k = case["n_clusters"]
    together = np.hstack([geometry(x, mask[:, v]) for v, x in enumerate(views)])
    order = np.argsort(KMeans(k, n_init=20, random_state=0).fit_predict(together), kind="stable")
    xs, w = setup(views, mask, order)
    points = [geometry(x, mask[:, v])[order] for v, x in enumerate(views)]
    graphs = [graph(x, mask[order, v], case["neighbors"]) for v, x in enumerate(points)]
    network = Network()
    slices = batches()
    laps = laplacians(graphs, slices)
    sgd, adam = optimizers(network)
    for _ in range(case["epochs"]):
        pretrain_epoch(network, sgd, xs, w, slices, laps)
    with torch.no_grad():
        latent = network.fuse(xs, w)[1].numpy()
    start = KMeans(k, n_init=20, random_state=0).fit(latent)
    centers = torch.from_numpy(start.cluster_centers_.astype(np.float32))
    labels = torch.from_numpy(start.labels_.astype(np.int64))
    selected = torch.ones(len(w))
    for round_ in range(case["rounds"]):
        for _ in range(case["epochs_per_round"]):
            finetune_epoch(network, adam, xs, w, slices, laps, centers, labels, selected)
        with torch.no_grad():
            fused = network.fuse(xs, w)[1]
            distances = torch.cdist(fused, centers) ** 2
            loss, labels = distances.min(dim=1)
            age = loss.mean() + round_ / case["rounds"] * loss.std()
            selected = (loss < age).float()
    return None


def sparse_tables():
    """From the tables on disk to labels: 20 directions of the sparse one, a mixture of these beside the dense one."""
    import scipy.sparse as sparse
    from sklearn.decomposition import TruncatedSVD
    from sklearn.mixture import GaussianMixture

    shape = (case["n_samples"], case["widths"][0])
    types = {"values": "f8", "columns": "u4", "starts": "u8"}
    parts = [np.fromfile(f"{case['folder']}/{name}.{kind[0]}{8 * int(kind[1])}", kind) for name, kind in types.items()]
    x = sparse.csr_matrix((parts[0], parts[1].astype("i4"), parts[2].astype("i8")), shape=shape)
    dense = np.fromfile(f"{case['folder']}/view1.f64").reshape(shape[0], -1)
    z = np.hstack([TruncatedSVD(20, random_state=0).fit_transform(x), dense])
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    return GaussianMixture(case["n_clusters"], random_state=0).fit_predict(z)


def main():
    task = case["task"]
    if task in ("pretrain", "finetune"):
        seconds, losses = epochs(task)
    elif task == "run":
        seconds, losses = timed(whole_run, 1)[0], []
    elif task == "neighbors":
        from sklearn.neighbors import NearestNeighbors

        views, mask = read_views()
        points = [geometry(x, mask[:, v])[mask[:, v]] for v, x in enumerate(views)]
        search = lambda p: NearestNeighbors(n_neighbors=case["neighbors"]).fit(p).kneighbors()  # noqa: E731
        seconds, losses = timed(lambda: [search(p) for p in points], case["times"])[0], []
    elif task == "kmeans":
        from sklearn.cluster import KMeans

        views, mask = read_views()
        together = np.hstack([geometry(x, mask[:, v]) for v, x in enumerate(views)])
        seeds = iter(range(case["times"]))
        fit = lambda: KMeans(case["n_clusters"], n_init=20, random_state=next(seeds)).fit(together).inertia_  # noqa: E731
        seconds, losses = timed(fit, case["times"])
    elif task == "predict":
        import torch

        torch.set_num_threads(case["threads"])
        views, mask = read_views()
        network = Network()

        def predict():
            with torch.no_grad():
                xs = [torch.from_numpy(standardized(x, mask[:, v])) for v, x in enumerate(views)]
                fused = network.fuse(xs, torch.from_numpy(mask.astype(np.float32)))[1]
                return torch.cdist(fused, fused[: case["n_clusters"]]).argmin(dim=1)

        seconds, losses = timed(predict, case["times"])[0], []
    elif task == "mixture":
        from sklearn.mixture import GaussianMixture

        views, mask = read_views()
        filled = np.hstack([np.where(np.isnan(x), np.nanmean(x, axis=0), x) for x in views])
        scale = filled.std(axis=0)
        filled = (filled - filled.mean(axis=0)) / np.where(scale > 0, scale, 1)
        seconds, losses = timed(lambda: GaussianMixture(case["n_clusters"], random_state=0).fit(filled), case["times"])[0], []
    elif task in ("sparse", "atlas"):
        seconds, losses = timed(sparse_tables, case["times"])[0], []
    else:
        sys.exit(f"unknown task {task}")
    usage = resource.getrusage(resource.RUSAGE_SELF)
    measured = {"seconds": seconds, "values": losses, "peak_memory_bytes": usage.ru_maxrss * 1024}
    print(json.dumps(measured | {"cpu_seconds": usage.ru_utime + usage.ru_stime}))


main()
