"""Writes the test networks of this folder, with rows and onnxruntime's outputs beside them.

    python make.py helper sklearn torch keras safetensors

needs onnx, onnxruntime, numpy; scikit-learn and skl2onnx for sklearn; torch and onnxscript for torch; keras, torch and
onnxscript for keras; torch and safetensors for safetensors, whose outputs are PyTorch's.
"""

import json
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(7)


def keep(name, model, rows, output=None):
    """Writes the model and what onnxruntime computes. Columns go to the inputs in order."""
    raw = model.SerializeToString()
    session = onnxruntime.InferenceSession(raw, providers=["CPUExecutionProvider"])
    feed, at = {}, 0
    for i in session.get_inputs():
        shape = [1 if not isinstance(d, int) else d for d in i.shape[1:]]
        width = int(np.prod(shape)) if shape else 1
        kind = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}[i.type]
        feed[i.name] = rows[:, at : at + width].reshape([len(rows)] + list(i.shape[1:])).astype(kind)
        at += width
    outputs = session.run([output] if output else None, feed)[0]
    with open(os.path.join(HERE, name + ".onnx"), "wb") as f:
        f.write(raw)
    with open(os.path.join(HERE, name + ".json"), "w") as f:
        json.dump({"rows": np.asarray(rows, np.float32).tolist(), "outputs": outputs.reshape(len(rows), -1).astype(np.float64).tolist()}, f)
    print(name, len(raw), "bytes, outputs", outputs.shape)


def strip(model):
    """Removes the stack traces that PyTorch leaves in a file: they name folders of this machine."""
    for part in [model, model.graph, *model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output, *model.graph.initializer]:
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    return model


def rows(n, d):
    return rng.normal(size=(n, d)).astype(np.float32)


def weight(name, *shape, scale=None):
    w = rng.normal(size=shape) * (scale or 1 / np.sqrt(shape[0]))
    return numpy_helper.from_array(w.astype(np.float32), name)


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def graph(name, nodes, inputs, weights, opset, out=1, width=5, x=None):
    inputs = inputs or [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", width])]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", out] if out else ["N"])
    g = helper.make_graph(nodes, name, inputs, [y], weights)
    m = helper.make_model(g, opset_imports=[helper.make_opsetid("", opset)])
    m.ir_version = 8
    onnx.checker.check_model(m)
    keep(name, m, x if x is not None else rows(7, width))


def make_helper():
    node = helper.make_node
    # Attributes of operator set 9, before they became inputs.
    graph("opset9", [
        node("Slice", ["x"], ["a"], axes=[1], starts=[0], ends=[3]),
        node("Slice", ["x"], ["b"], axes=[1], starts=[-2], ends=[9223372036854775807]),
        node("Concat", ["b", "a"], ["c"], axis=1),
        node("Gemm", ["c", "w", "v"], ["d"], transB=1, alpha=0.5, beta=2.0),
        node("Clip", ["d"], ["e"], min=-0.4, max=0.6),
        node("Unsqueeze", ["e"], ["f"], axes=[1]),
        node("Squeeze", ["f"], ["g"], axes=[1]),
        node("Split", ["g"], ["h", "i"], axis=1, split=[2, 4]),
        node("Dropout", ["i"], ["j"], ratio=0.3),
        node("MatMul", ["h", "u1"], ["k"]),
        node("MatMul", ["j", "u2"], ["l"]),
        node("Add", ["k", "l"], ["y"]),
    ], None, [weight("w", 6, 5), weight("v", 6), weight("u1", 2, 1), weight("u2", 4, 1)], 9)
    # The number of rows taken from a shape, weights that are transposed, a residual sum.
    graph("reshapes", [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"], axis=0),
        node("Unsqueeze", ["n", "axes"], ["n1"]),
        node("Concat", ["n1", "rest"], ["t"], axis=0),
        node("Reshape", ["x", "t"], ["r"]),
        node("Transpose", ["r"], ["q"], perm=[0, 2, 1]),
        node("Flatten", ["q"], ["f"]),
        node("Transpose", ["w"], ["wt"]),
        node("MatMul", ["f", "wt"], ["z"]),
        node("Add", ["v", "z"], ["zb"]),
        node("Relu", ["zb"], ["h"]),
        node("Add", ["h", "f"], ["res"]),
        node("MatMul", ["res", "u"], ["o"]),
        node("Reshape", ["o", "flat"], ["y"]),
    ], None, [numpy_helper.from_array(np.array(0, np.int64), "zero"), ints("axes", 0), ints("rest", 2, 3), ints("flat", -1),
              weight("w", 6, 6), weight("v", 6), weight("u", 6, 1)], 17, out=0, width=6)
    # LayerNormalization written out, GELU by the error function, a slice with steps.
    graph("decomposed", [
        node("Slice", ["x", "starts", "ends", "one", "steps"], ["rev"]),
        node("MatMul", ["rev", "w"], ["z"]),
        node("ReduceMean", ["z"], ["m"], axes=[-1]),
        node("Sub", ["z", "m"], ["c"]),
        node("Pow", ["c", "two"], ["p"]),
        node("ReduceMean", ["p"], ["var"], axes=[-1]),
        node("Add", ["var", "eps"], ["ve"]),
        node("Sqrt", ["ve"], ["sd"]),
        node("Div", ["c", "sd"], ["hat"]),
        node("Mul", ["hat", "gain"], ["hg"]),
        node("Add", ["hg", "shift"], ["ln"]),
        node("Div", ["ln", "root"], ["e0"]),
        node("Erf", ["e0"], ["e1"]),
        node("Add", ["e1", "one_f"], ["e2"]),
        node("Mul", ["ln", "e2"], ["e3"]),
        node("Mul", ["e3", "half"], ["gelu"]),
        node("Sub", ["one_f", "gelu"], ["flip"]),
        node("Exp", ["flip"], ["ex"]),
        node("Div", ["one_f", "ex"], ["inv"]),
        node("Gemm", ["inv", "u", "b"], ["y"]),
    ], None, [ints("starts", -1), ints("ends", -100), ints("one", 1), ints("steps", -1), weight("w", 5, 8),
              numpy_helper.from_array(np.array(2, np.float32), "two"), numpy_helper.from_array(np.array(1e-5, np.float32), "eps"),
              weight("gain", 8), weight("shift", 8), numpy_helper.from_array(np.array(np.sqrt(2), np.float32), "root"),
              numpy_helper.from_array(np.array(1, np.float32), "one_f"), numpy_helper.from_array(np.array(0.5, np.float32), "half"),
              weight("u", 8, 1), weight("b", 1)], 13)
    # Every activation that is an operator, side by side.
    names = ["Relu", "LeakyRelu", "Elu", "Selu", "Celu", "Sigmoid", "Tanh", "Softplus", "Softsign", "HardSigmoid", "HardSwish",
             "ThresholdedRelu", "Mish", "Gelu", "Identity", "Erf", "Abs", "Neg"]
    nodes = [node(a, ["x"], [a]) for a in names]
    nodes += [node("Elu", ["x"], ["Elu2"], alpha=0.4), node("Celu", ["x"], ["Celu2"], alpha=1.7),
              node("LeakyRelu", ["x"], ["Leaky2"], alpha=0.2), node("Gelu", ["x"], ["Gelu2"], approximate="tanh"),
              node("PRelu", ["x", "slopes"], ["PRelu"]), node("PRelu", ["x", "slope"], ["PRelu1"]),
              node("Clip", ["x", "low", "high"], ["Clip"]), node("Clip", ["x", "low"], ["Clip2"])]
    names += ["Elu2", "Celu2", "Leaky2", "Gelu2", "PRelu", "PRelu1", "Clip", "Clip2"]
    nodes += [node("Concat", names, ["all"], axis=1), node("Gemm", ["all", "w", "b"], ["y"])]
    graph("activations", nodes, None, [weight("w", 4 * len(names), 1), weight("b", 1), weight("slopes", 4), weight("slope", 1),
          numpy_helper.from_array(np.array(-0.3, np.float32), "low"), numpy_helper.from_array(np.array(0.7, np.float32), "high")],
          20, width=4, x=2 * rows(9, 4))
    # Two inputs, one of categories; two outputs.
    graph("embedding", [
        node("Gather", ["table", "kind"], ["e"]),
        node("Cast", ["level"], ["l64"], to=TensorProto.INT64),
        node("Gather", ["table2", "l64"], ["e2"], axis=0),
        node("Squeeze", ["e2", "one"], ["e3"]),
        node("Concat", ["x", "e", "e3"], ["c"], axis=1),
        node("Gemm", ["c", "w", "b"], ["z"]),
        node("LayerNormalization", ["z", "gain", "shift"], ["ln"], axis=-1),
        node("Sigmoid", ["ln"], ["s"]),
        node("Mul", ["ln", "s"], ["silu"]),
        node("Gemm", ["silu", "u", "d"], ["y"]),
    ], [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3]), helper.make_tensor_value_info("kind", TensorProto.INT64, ["N"]),
        helper.make_tensor_value_info("level", TensorProto.FLOAT, ["N", 1])],
        [weight("table", 4, 2), weight("table2", 3, 3), weight("w", 8, 6), weight("b", 6), weight("gain", 6), weight("shift", 6),
         weight("u", 6, 2), weight("d", 2), ints("one", 1)], 17, out=2,
        x=np.hstack([rows(8, 3), np.array([[0, 1, 2, 3, 3, 2, 1, 0]]).T, np.array([[2, 2, 1, 1, 0, 0, 1, 2]]).T]).astype(np.float32))
    # What cannot be run: an operator, rows that are mixed, weights in another file.
    def refused(name, nodes, weights, **more):
        g = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights)
        m = helper.make_model(g, opset_imports=[helper.make_opsetid("", more.get("opset", 17))])
        with open(os.path.join(HERE, "refused_" + name + ".onnx"), "wb") as f:
            f.write(m.SerializeToString())
    refused("operator", [node("Softmax", ["x"], ["p"], name="attention"), node("Cos", ["p"], ["y"], name="wave")], [])
    refused("rows", [node("Transpose", ["x"], ["y"], name="turn")], [])
    refused("batch", [node("ReduceMean", ["x"], ["y"], name="average", axes=[0])], [])
    refused("opset", [node("Relu", ["x"], ["y"])], [], opset=8)
    outside = weight("w", 4, 1)
    outside.ClearField("raw_data")
    outside.data_location = TensorProto.EXTERNAL
    entry = outside.external_data.add()
    entry.key, entry.value = "location", "weights.bin"
    refused("external", [node("MatMul", ["x", "w"], ["y"])], [outside])


def make_sklearn():
    from skl2onnx import to_onnx
    from sklearn.linear_model import LinearRegression
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = 3 + 2 * rows(60, 4)
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2]
    for name, model, target in [
        ("sklearn_mlp", make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(9, 7), max_iter=60, random_state=1)), y),
        ("sklearn_tanh", MLPRegressor(hidden_layer_sizes=(6,), activation="tanh", max_iter=60, random_state=1), y),
        ("sklearn_linear", make_pipeline(StandardScaler(), LinearRegression()), y),
    ]:
        model.fit(x, target)
        keep(name, to_onnx(model, x[:1]), x[:8])


def make_torch():
    import io

    import torch
    from torch import nn

    torch.manual_seed(3)

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm, self.second = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 8)
            self.drop, self.out = nn.Dropout(0.4), nn.Linear(8, 1)

        def forward(self, x):
            h = torch.relu(self.norm(self.first(x)))
            return self.out(self.drop(h + torch.tanh(self.second(h))))

    class Tabular(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.body = nn.Embedding(5, 3), nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 1))

        def forward(self, x):
            return self.body(torch.cat([x[:, :3], self.table(x[:, 3].long())], dim=1))

    networks = {
        "torch_mlp": (nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 7), nn.ReLU(), nn.Linear(7, 1)), rows(7, 6)),
        "torch_silu": (nn.Sequential(nn.Linear(6, 10), nn.SiLU(), nn.Linear(10, 1), nn.Flatten()), rows(7, 6)),
        "torch_activations": (nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 8), nn.Mish(), nn.Linear(8, 8), nn.PReLU(), nn.Linear(8, 8), nn.Hardswish(),
                                            nn.Linear(8, 8), nn.CELU(), nn.Linear(8, 8), nn.ELU(), nn.Linear(8, 8), nn.SELU(), nn.Linear(8, 8), nn.LeakyReLU(0.1),
                                            nn.Linear(8, 8), nn.Softplus(), nn.Linear(8, 8), nn.Softsign(), nn.Linear(8, 8), nn.ReLU6(), nn.Linear(8, 1)), rows(7, 6)),
        "torch_residual": (Residual(), rows(7, 6)),
        "torch_tabular": (Tabular(), np.hstack([rows(7, 3), np.array([[0, 4, 3, 2, 1, 0, 4]]).T]).astype(np.float32)),
    }
    for name, (net, x) in networks.items():
        with torch.no_grad():
            for m in net.modules():
                if isinstance(m, nn.BatchNorm1d):
                    m.running_mean.normal_()
                    m.running_var.uniform_(0.5, 2)
                    m.weight.normal_(1, 0.2)
                    m.bias.normal_(0, 0.2)
        net.eval()
        for exporter in ("old", "new"):
            try:
                buffer = io.BytesIO()
                if exporter == "old":
                    torch.onnx.export(net, (torch.tensor(x),), buffer, dynamo=False, input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "n"}})
                else:
                    torch.onnx.export(net, (torch.tensor(x),), dynamo=True, dynamic_shapes=({0: torch.export.Dim("n")},)).save(buffer)
            except Exception as e:  # the old exporter is going away
                print(name, exporter, type(e).__name__, str(e)[:200])
                continue
            keep(name + "_" + exporter, strip(onnx.load_from_string(buffer.getvalue())), x)


def make_keras():
    os.environ["KERAS_BACKEND"] = "torch"
    import tempfile

    import keras

    keras.utils.set_random_seed(3)
    layers = keras.layers
    inputs = keras.Input((6,), name="x")
    hidden = layers.Dense(16, activation="silu")(inputs)
    residual = layers.Add()([hidden, layers.Dense(16, activation="relu")(layers.BatchNormalization()(hidden))])
    networks = {
        "keras_mlp": keras.Sequential([keras.Input((6,), name="x"), layers.Dense(16, activation="relu"), layers.Dropout(0.1),
                                       layers.Dense(16, activation="gelu"), layers.Dense(2)]),
        "keras_residual": keras.Model(inputs, layers.Dense(1)(layers.Concatenate()([residual, inputs]))),
    }
    for name, net in networks.items():
        for layer in net.layers:
            if isinstance(layer, layers.BatchNormalization):
                layer.set_weights([np.abs(rng.normal(1, 0.2, w.shape)).astype(np.float32) for w in layer.get_weights()])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.onnx")
            net(np.zeros((2, 6), np.float32))  # export wants a network that was called
            net.export(path, format="onnx", verbose=False)
            keep(name, strip(onnx.load(path)), rows(7, 6))


def make_safetensors():
    import torch
    from safetensors.torch import save_file
    from torch import nn

    torch.manual_seed(3)

    class Described(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Linear(8, 8, bias=False), nn.LayerNorm(8), nn.PReLU())
            self.out = nn.Linear(14, 2)

        def forward(self, x):
            return self.out(torch.cat([self.body(x), x], dim=1))

    net, x = Described(), rows(7, 6)
    with torch.no_grad():
        norm = net.body[1]
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
        norm.weight.normal_(1, 0.2)
        norm.bias.normal_(0, 0.2)
    net.eval()
    save_file(net.state_dict(), os.path.join(HERE, "described", "torch.safetensors"))
    with open(os.path.join(HERE, "described", "torch.json"), "w") as f:
        json.dump({"weights": "torch.safetensors", "inputs": 6, "layers": [
            {"op": "Linear", "name": "body.0"}, {"op": "BatchNorm1d", "name": "body.1"}, {"op": "GELU"}, {"op": "Linear", "name": "body.3"},
            {"op": "LayerNorm", "name": "body.4"}, {"op": "PReLU", "name": "body.5"}, {"op": "Concat", "from": ["", "inputs"]},
            {"op": "Linear", "name": "out"}]}, f, indent=1)
    with open(os.path.join(HERE, "described", "outputs.json"), "w") as f:
        json.dump({"rows": x.tolist(), "outputs": net(torch.tensor(x)).detach().double().tolist()}, f)


if __name__ == "__main__":
    for part in sys.argv[1:] or ["helper", "sklearn", "torch", "keras", "safetensors"]:
        globals()["make_" + part]()
