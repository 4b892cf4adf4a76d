// SPDX-License-Identifier: Apache-2.0
// C + A * B of two matrices, each of which may be given transposed, in double.
#include <utility>

#include "operation.h"

namespace atb {
namespace {

// Element (row, column) of a matrix lies at row * rowStep + column * columnStep.
struct Matrix {
  Row values;
  size_t rows, columns, rowStep, columnStep;

  Matrix(const Rows& from, bool transposed)
      : values(from.read(0, from.count())), rows(from.size(0)), columns(from.size(1)) {
    rowStep = columns;
    columnStep = 1;
    if (!transposed) return;
    std::swap(rows, columns);
    std::swap(rowStep, columnStep);
  }
  double at(size_t row, size_t column) const { return values[row * rowStep + column * columnStep]; }
};

Description linear(const infer::LinearParam& param) {
  requireSimulated(param.enAccum && !param.hasBias, "LinearOperation that does not add to its output");
  return {"LinearOperation", 3, 1, [param](const Arguments& all) {
            const Matrix a(all.input(0), param.transposeA), b(all.input(1), param.transposeB);
            const Rows sum = all.input(2), out = all.output(0);
            if (a.columns != b.rows || sum.count() != a.rows * b.columns) {
              throw npusim::Error(npusim::kInvalidParam, "the shapes of the matrices do not fit");
            }
            for (size_t i = 0; i < a.rows; ++i) {
              Row row = sum.read(i * b.columns, b.columns);
              for (size_t k = 0; k < a.columns; ++k) {
                for (size_t j = 0; j < b.columns; ++j) row[j] += a.at(i, k) * b.at(k, j);
              }
              out.write(i * b.columns, row);
            }
          }};
}

}  // namespace
}  // namespace atb

NPUSIM_ATB_OPERATION(atb::infer::LinearParam, atb::linear)
