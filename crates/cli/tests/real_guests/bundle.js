(() => {
  var __pow = Math.pow;

  // data/square.ts
  var square = (n) => __pow(n, 2);

  // data/values.json
  var values_default = { name: "values", list: [1, 2, 3] };

  // data/main.tsx
  console.log(square(3), values_default.list, /* @__PURE__ */ React.createElement("p", { id: "a" }, values_default.name));
})();
