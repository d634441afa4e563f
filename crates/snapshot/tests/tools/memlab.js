// Opens a snapshot with memlab's parser and prints its sums and the sizes that memlab finds itself:
// node memlab.js PACKAGES FILE
const path = require('path');
const packages = path.join(process.argv[2], 'node_modules');
const utils = require(path.join(packages, '@memlab', 'heap-analysis'));

async function main() {
  const heap = await utils.getFullHeapFromFile(process.argv[3]);
  const rows = [];
  heap.nodes.forEach(node => {
    rows.push([node.id, node.type, node.name, node.self_size, node.retainedSize, node.edge_count]);
  });
  console.log(JSON.stringify({ nodes: rows, edges: heap.edges.length }));
}

main();
