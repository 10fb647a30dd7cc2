#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>

#include <anabranch/array.h>
#include <anabranch/export.h>
#include <anabranch/source.h>

/// Directed graphs: the links that lead into each node, as a stream.
namespace anabranch::io {

enum class GraphFormat : std::uint8_t {
  by_content,     ///< found from the first bytes and the ending of the name
  npz,            ///< scipy.sparse.save_npz: entry (i, j) is the link from i to j
  matrix_market,  ///< likewise
  edge_text,      ///< a link a line: "FROM TO", or "FROM TO WEIGHT"; lines that begin with # or % say nothing
  edge_int32,     ///< pairs (from, to) of little-endian int32, one after the other
  edge_int64,     ///< of int64
};

/// "npz", "Matrix Market", "edge list (text)", ...
ANABRANCH_API const char* name_of(GraphFormat format);

/// Files that begin like an .npz or Matrix Market file are that; else the ending tells, in letters of either case: .mtx is
/// Matrix Market, .i32 and .i64 are binary, all others text. Throws IoError.
ANABRANCH_API GraphFormat find_graph_format(const std::string& path);

struct GraphOptions {
  /// by_content: what find_graph_format finds.
  GraphFormat format = GraphFormat::by_content;
  /// Links have weights: the values of a matrix, the third column of a text. They are finite and not negative, those at the
  /// same place are summed. Without it what a file says of weights is not looked at (beyond that it is a number where a
  /// Matrix Market file has one), and a link that is given several times is one.
  bool weighted = false;
  std::int64_t first_node = 0;  ///< the number of the first node in an edge list: 0 or 1
  std::int64_t nodes = 0;       ///< of an edge list; 0: up to the greatest number in it
  /// Where links are sorted if they do not fit into `memory`; empty: $TMPDIR, else /var/tmp.
  std::string spool_dir = {};
  /// Bytes that opening may take, and afterwards the links, if they are held in memory, else the largest chunk.
  std::int64_t memory = std::int64_t{256} << 20;
  /// Threads that parse and sort; 0: as many as the process may use. More than 8, and up to 32, only where each has 32 MiB
  /// of `memory`.
  int threads = 0;
};

/// What a file says of a graph.
struct GraphHeader {
  GraphFormat format = GraphFormat::npz;
  std::int64_t nodes = 0;
  /// Of the file, symmetric ones of a Matrix Market file counted twice; before they have been read, those of its diagonal, too.
  std::int64_t entries = 0;
  ScalarType node =
      ScalarType::int32;  ///< type of their numbers: int64 if there are more than int32 can count
};

/// A matrix: reads its headers. An edge list: reads all of it, for the greatest number of a node.
/// Throws DataError (malformed; a matrix that is not square), IoError.
ANABRANCH_API GraphHeader inspect_graph(const std::string& path, const GraphOptions& options = {});

/// A graph turned around: for each node the nodes that link to it.
struct InLinks {
  std::string name;
  GraphHeader header;
  std::int64_t links = 0;       ///< that differ
  bool in_memory = false;       ///< else they are streamed from a spool file
  std::int64_t held_bytes = 0;  ///< of `memory`, as long as the stream lives
  /// How many links leave each node; with weights, their sum.
  Vector<double> leaving{};
  std::shared_ptr<SourceBase> rows{};

  /// Item v are the nodes that link to v, rising. N: int32_t or int64_t, as header.node says.
  template <class N>
    requires(std::is_same_v<N, std::int32_t> || std::is_same_v<N, std::int64_t>)
  Source<Vector<N>> sources() const {
    return Source<Vector<N>>(rows);
  }
  /// Of a graph with weights: (node, weight).
  template <class N>
    requires(std::is_same_v<N, std::int32_t> || std::is_same_v<N, std::int64_t>)
  Source<Vector<std::tuple<N, double>>> weighted_sources() const {
    return Source<Vector<std::tuple<N, double>>>(rows);
  }
};

/// Sorts the links of a graph by the node that they lead to: in memory where options.memory has room for all of them, else
/// through a spool file, which is then streamed. The result is the same. `header`: what inspect_graph said with the same
/// options, `memory` aside.
///
/// Time: some 50 ns a link. Needs 8 bytes a node, and a link 12 bytes in memory (or on disk), with weights 28.
/// Throws DataError, IoError, ResourceError.
ANABRANCH_API InLinks open_in_links(const std::string& path, const GraphHeader& header,
                                    const GraphOptions& options = {});

}  // namespace anabranch::io
