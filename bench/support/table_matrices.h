#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "matrices.h"

/// The fourteen matrices on which Williams et al. (2007) and Bell and Garland (2008) measure products with a vector, by their
/// shapes: numbers of rows, columns and nonzeros are theirs, where the nonzeros are follows a few laws. Values are random.
namespace anabranch::bench {

/// Lengths of rows, or numbers of neighbours, in random order: those of a law, scaled so that the nonzeros are as many as they
/// should be, and kept within bounds.
struct Lengths {
  enum class Law : std::uint8_t {
    equal,
    even,      ///< from 1 - `parameter` to 1 + `parameter` of the mean
    log_even,  ///< their logarithms are even, the longest `parameter` times the shortest
    power,     ///< P(length >= n) falls as n to the power of -`parameter`
  };
  Law law = Law::equal;
  double parameter = 0;
  std::int64_t least = 1, longest = 1 << 30;
};

/// Each row has every column.
struct AllColumns {};

/// Nodes of a mesh, close ones numbered in succession as in a cube's lattice, each with so many unknowns and a number of near
/// nodes that follows a law: blocks of nonzeros, around the diagonal and a few lines beside it.
struct FiniteElements {
  int unknowns = 3;
  Lengths neighbours{};
};

/// Quarks on a periodic lattice of four dimensions, each `side` points: four spins and three colours a point. A row has its
/// own spin and another one at the six neighbours in space, its own at one neighbour in time, in all colours: 39 columns.
struct QuarkLattice {
  std::int64_t side = 8;
};

/// The four neighbours on a rectangle.
struct Grid {
  std::int64_t width = 1;
};

/// Columns at random places, `near` of them in a band around the diagonal, the rest anywhere.
struct Scattered {
  Lengths lengths{};
  double near = 0;
  std::int64_t band = 1;
};

/// Each row the nodes of a graph of 2^scale nodes to which a node has links (rmat.h): lengths of rows and of columns follow power
/// laws, and what is gathered lies anywhere.
struct Rmat {
  int scale = 20;
};

struct TableMatrix {
  const char* name;
  std::int64_t rows, cols, nonzeros;
  std::variant<AllColumns, FiniteElements, QuarkLattice, Grid, Scattered, Rmat> pattern;
};

std::span<const TableMatrix> table_matrices();
/// Two that are not of the fourteen: a graph, and one of the SuiteSparse collection that lies far outside of every cache: 1.6 GB, of
/// which some peers make copies.
std::span<const TableMatrix> further_matrices();

/// The same each time. Columns of a row rise.
Csr make_matrix(const TableMatrix& description);

}  // namespace anabranch::bench
