// Kernel tables of other projects, right and wrong.
#include "scenarios/fidelity/fit/read_kernel_tables.hpp"

#include <cmath>

#include "tests/cli/scene.hpp"

namespace spillway {
namespace {

using Kind = KernelTableKind;

KernelTables read(const std::string& file, const char* gpu = "H100", const char* model = nullptr) {
  KernelTableOptions options;
  options.gpu = &find_gpu(gpu, {});
  if (model != nullptr) options.model = &find_model(model, {});
  return read_kernel_tables({file}, options);
}

/// The message of the refusal, whose exit code is 3 unless said.
std::string refusal(const std::string& file, Fault fault = Fault::kTrace,
                    const char* model = "Llama-3.1-8B") {
  try {
    read(file, "H100", model);
  } catch (const InputError& error) {
    CHECK(error.fault() == fault);
    return error.what();
  }
  return "not refused";
}

std::string scaled(double factor) {
  std::string out = "dtype,m,n,k,latency_ms\n";
  for (const double rows : {1, 64, 1024}) {
    for (const double width : {1024, 4096, 8192}) {
      const double ms = 5e-3 + 2 * rows * width * width / 0.7e15 * 1e3 + width * width / 1e12 * 1e3;
      out += fmt::format("bfloat16,{},{},{},{}\n", rows, width, width, ms * factor);
    }
  }
  return out;
}

TEST_CASE("each form of kernel table is told by its header", "[scenarios][fit]") {
  CHECK(kernel_table_kind("dtype,m,n,k,latency_ms") == Kind::kGemm);
  CHECK(kernel_table_kind("framework,version,gemm_dtype,m,n,k,latency") == Kind::kGemm);
  CHECK(kernel_table_kind("batch_size,isl,num_heads,num_key_value_heads,latency_ms") ==
        Kind::kContext);
  CHECK(kernel_table_kind("batch_size,ctx,num_heads,num_key_value_heads,latency_ms") ==
        Kind::kGeneration);
  CHECK(kernel_table_kind("layer,tokens,time_us") == Kind::kLayerDense);
  CHECK(kernel_table_kind("layer,sequences,time_us") == Kind::kLayerSequence);
  CHECK(kernel_table_kind("prefill_chunk,kv_prefill,n_decode,kv_decode,time_us") ==
        Kind::kLayerAttention);
  CHECK(kernel_table_kind("n,pc,kp,kv_mean,t_mean_us,t_skew_us") == Kind::kLayerSkew);
  CHECK(kernel_table_kind("tokens,activated_experts,time_us") == Kind::kLayerExperts);
  CHECK(kernel_table_kind("num_tensor_parallel_workers,num_tokens,emb_ms") == Kind::kOperations);
  CHECK_FALSE(kernel_table_kind("input_toks,output_toks,arrival_s"));
  CHECK_FALSE(kernel_table_kind("{\"m\": 1, \"n\": 2}"));
}

TEST_CASE("products are read by type, in microseconds", "[scenarios][fit]") {
  const test::Scratch scratch;
  const KernelTables tables = read(
      scratch.file("g.csv",
                   "kernel,dtype,m,n,k,latency_ms\na,bfloat16,1,1024,2048,0.006\nb,fp8,1,1024,2048,"
                   "0.005\nc,int4,1,1024,2048,0.004\n"));
  REQUIRE(tables.products.size() == 2);
  const ProductRow& row = tables.products.at("bf16").at(0);
  CHECK(row.outputs == 1024);  // n
  CHECK(row.inputs == 2048);   // k
  CHECK(row.us == Approx(6));
  CHECK(row.from.line == 2);
  REQUIRE(tables.notes.size() == 2);
  CHECK_THAT(tables.notes[0], ContainsSubstring("left out 1 rows of weight types that no step "
                                                "model knows: int4"));
  CHECK_THAT(tables.notes[1], ContainsSubstring("ignored columns"));
}

TEST_CASE("windowed attention is left out and counted", "[scenarios][fit]") {
  const test::Scratch scratch;
  const std::string head =
      "batch_size,ctx,num_heads,num_key_value_heads,head_dim,kv_cache_dtype,window_size,latency_ms"
      "\n";
  const KernelTables tables =
      read(scratch.file("a.csv", head + "2,1024,32,8,128,bfloat16,0,0.012\n"
                                        "2,1024,32,8,128,bfloat16,128,0.011\n"
                                        "2,1024,32,8,64,fp8,0,0.011\n"));
  REQUIRE(tables.attention.size() == 2);
  const DecodeRow& row = tables.attention.at({"bf16", 128}).decode.at(0);
  CHECK(row.held == 1025);  // the token that is computed, too
  CHECK(tables.attention.at({"fp8", 64}).decode.size() == 1);
  CHECK_THAT(tables.notes.at(0), ContainsSubstring("left out 1 rows of sliding-window attention"));
}

TEST_CASE("a layer's table takes its shapes from the model", "[scenarios][fit]") {
  const test::Scratch scratch;
  const std::string dense =
      "layer,tokens,time_us\nqkv_proj,16,30\no_proj,16,20\nlayernorm,16,4\nact_fn,16,5\n"
      "embedding,16,32\nqkv_proj,32,31\nlayernorm,32,4\n";
  const KernelTables tables = read(scratch.file("x_tp2_dense.csv", dense), "H100", "Llama-3.1-8B");
  CHECK(tables.tensor_parallel == 2);
  const std::vector<ProductRow>& rows = tables.products.at("bf16");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].inputs == 2048);   // 32 heads / 2 ranks x 128
  CHECK(rows[1].outputs == 3072);  // (16 + 2 x 4) heads x 128
  // 2 x 4 + 5 + 32 us / 32 layers at 16 tokens; at 32 an operation is missing.
  REQUIRE(tables.elementwise.size() == 1);
  CHECK(tables.elementwise[0].us == Approx(14));
  CHECK_THAT(refusal(scratch.path("x_tp2_dense.csv"), Fault::kUsage, nullptr),
             ContainsSubstring("expected --model NAME"));
}

TEST_CASE("experts that the cache holds are left out", "[scenarios][fit]") {
  const test::Scratch scratch;
  // 9.4 MB an expert: 8 fit the 128 MiB of an RTX PRO 6000, 16 do not.
  const std::string path = scratch.file("x_tp1_moe.csv",
                                        "tokens,activated_experts,time_us\n1,8,50\n2,16,135\n"
                                        "4,16,136\n4,32,234\n");
  const KernelTables tables = read(path, "RTX-PRO-6000", "Qwen3-30B-A3B");
  const std::vector<ExpertRow>& rows = tables.experts.at("bf16");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].rows == 16);  // 2 tokens, 8 experts each
  CHECK(rows[0].activated == 16);
  CHECK(rows[0].width == 768);
  CHECK_THAT(tables.notes.at(0), ContainsSubstring("left out 1 rows whose experts fit the L2"));
  CHECK_THAT(refusal(path, Fault::kUsage), ContainsSubstring("has no experts"));
}

TEST_CASE("times in another unit are named", "[scenarios][fit]") {
  const test::Scratch scratch;
  CHECK(read(scratch.file("right.csv", scaled(1))).products.at("bf16").size() == 9);
  CHECK_THAT(refusal(scratch.file("us.csv", scaled(1000))),
             ContainsSubstring("times look like microseconds where milliseconds are expected"));
  CHECK_THAT(refusal(scratch.file("s.csv", scaled(0.001))),
             ContainsSubstring("times look like seconds where milliseconds are expected"));
  const std::string layer = "layer,tokens,time_us\nqkv_proj,16,0.03\no_proj,16,0.02\n";
  CHECK_THAT(refusal(scratch.file("ms.csv", layer)),
             ContainsSubstring("times look like milliseconds where microseconds are expected"));
}

TEST_CASE("rows that no GPU can have are counted, and refused where they are many",
          "[scenarios][fit]") {
  const test::Scratch scratch;
  std::string many = "dtype,m,n,k,latency_ms\n";
  for (int m = 1; m <= 200; ++m) many += fmt::format("bfloat16,{},1024,1024,0.006\n", m);
  const std::string fast = "bfloat16,8192,8192,8192,0.2\n";  // 1.1 PFLOP in 0.2 ms: 5.5 PFLOP/s
  const KernelTables tables = read(scratch.file("one.csv", many + fast));
  CHECK(tables.products.at("bf16").size() == 200);
  CHECK_THAT(tables.notes.at(0), ContainsSubstring("left out 1 of 201 rows"));
  CHECK_THAT(refusal(scratch.file("two.csv", many + fast + fast + fast)),
             ContainsSubstring("two.csv:202: 3 of 203 rows cannot be of H100-SXM5-80GB"));
}

TEST_CASE("a shape measured twice takes the median, unless the times contradict",
          "[scenarios][fit]") {
  const test::Scratch scratch;
  const std::string head = "dtype,m,n,k,latency_ms\nbfloat16,1,1024,1024,0.006\n";
  const KernelTables tables = read(scratch.file("a.csv", head + "bfloat16,1,1024,1024,0.008\n"));
  REQUIRE(tables.products.at("bf16").size() == 1);
  CHECK(tables.products.at("bf16")[0].us == Approx(7));
  CHECK_THAT(tables.notes.at(0), ContainsSubstring("1 shapes were measured more than once"));
  CHECK_THAT(refusal(scratch.file("b.csv", head + "bfloat16,1,1024,1024,0.016\n")),
             ContainsSubstring("b.csv:3: products bf16: 1 shapes were measured more than once with "
                               "times that differ by more than 2x"));
}

TEST_CASE("faulty cells and headers are named with file, line and field", "[scenarios][fit]") {
  const test::Scratch scratch;
  const auto faulty = [&](const std::string& row) {
    return refusal(scratch.file("f.csv", "dtype,m,n,k,latency_ms\n" + row + "\n"));
  };
  CHECK_THAT(faulty("bfloat16,1,1024,1024,-0.1"),
             ContainsSubstring("f.csv:2: latency_ms: expected a time above 0 in milliseconds, "
                               "found \"-0.1\""));
  CHECK_THAT(faulty("bfloat16,1,1024,1024,nan"), ContainsSubstring("f.csv:2: latency_ms"));
  CHECK_THAT(faulty("bfloat16,0,1024,1024,0.1"),
             ContainsSubstring("f.csv:2: m: expected a number of at least 1, found \"0\""));
  CHECK_THAT(faulty("bfloat16,1,1024"), ContainsSubstring("expected 5 columns, found 3"));
  CHECK_THAT(refusal(scratch.file("g.csv", "dtype,m,n,k\nbfloat16,1,2,3\n")),
             ContainsSubstring("g.csv:1: header: missing column \"latency_ms\""));
  CHECK_THAT(refusal(scratch.file("h.csv", "dtype,m,n,latency_ms\n")),
             ContainsSubstring("missing column \"k\""));
  CHECK_THAT(refusal(scratch.file("i.csv", "dtype,m,n,k,latency_ms\n")),
             ContainsSubstring("expected rows behind the header"));
  CHECK_THAT(refusal(scratch.file("j.csv", "a,b\n1,2\n")),
             ContainsSubstring("expected the columns of a kernel table"));
}

}  // namespace
}  // namespace spillway
