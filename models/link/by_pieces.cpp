#include "models/link/by_pieces.hpp"

#include <algorithm>
#include <utility>

namespace spillway {

namespace {

class LinkByPieces final : public LinkModel {
 public:
  LinkByPieces(std::unique_ptr<LinkModel> few, std::unique_ptr<LinkModel> many, std::uint32_t least)
      : few_(std::move(few)), many_(std::move(many)), least_(least) {}

  Duration service_time(Bytes payload, std::uint32_t copies) const override {
    return of(copies).service_time(payload, copies);
  }
  Reach reach(Bytes payload, std::uint32_t copies) const override {
    return of(copies).reach(payload, copies);
  }
  BytesPerSecond capacity() const override { return std::max(few_->capacity(), many_->capacity()); }

 private:
  const LinkModel& of(std::uint32_t copies) const { return copies < least_ ? *few_ : *many_; }

  std::unique_ptr<LinkModel> few_;
  std::unique_ptr<LinkModel> many_;
  std::uint32_t least_;
};

}  // namespace

std::unique_ptr<LinkModel> make_link_by_pieces(std::unique_ptr<LinkModel> few,
                                               std::unique_ptr<LinkModel> many,
                                               std::uint32_t least) {
  return std::make_unique<LinkByPieces>(std::move(few), std::move(many), least);
}

}  // namespace spillway
