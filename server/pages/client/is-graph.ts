/** Stands in for the package `graphology-utils/is-graph`, which is CommonJS: whether sigma can draw a value. */

export default function isGraph(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'addUndirectedEdgeWithKey' in value && 'multi' in value
}
