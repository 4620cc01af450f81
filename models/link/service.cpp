#include "models/link/service.hpp"

#include "models/link/link_model.hpp"

namespace spillway {

namespace {

class LinkService final : public ServiceModel {
 public:
  explicit LinkService(const LinkModel& link) : link_(&link) {}
  explicit LinkService(std::unique_ptr<LinkModel> link)
      : owned_(std::move(link)), link_(owned_.get()) {}
  Service service(Bytes payload, std::uint32_t copies) override {
    // Many jobs are alike: a block each.
    if (payload != payload_ || copies != copies_) {
      payload_ = payload;
      copies_ = copies;
      last_ = {Duration(0), link_->service_time(payload, copies), link_->reach(payload, copies)};
    }
    return last_;
  }

 private:
  std::unique_ptr<LinkModel> owned_;
  const LinkModel* link_;
  Bytes payload_{0};
  std::uint32_t copies_ = 0;
  Service last_{};
};

class PerCopyService final : public ServiceModel {
 public:
  explicit PerCopyService(Duration each) : each_(each) {}
  Service service(Bytes, std::uint32_t copies) override { return {Duration(0), each_ * copies}; }

 private:
  Duration each_;
};

}  // namespace

std::unique_ptr<ServiceModel> make_link_service(std::unique_ptr<LinkModel> link) {
  return std::make_unique<LinkService>(std::move(link));
}

std::unique_ptr<ServiceModel> make_link_service(const LinkModel& link) {
  return std::make_unique<LinkService>(link);
}

std::unique_ptr<ServiceModel> make_per_copy_service(Duration each) {
  return std::make_unique<PerCopyService>(each);
}

}  // namespace spillway
