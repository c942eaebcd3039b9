/** Replaces `graphology-utils/is-graph`, which is CommonJS. True if sigma can draw the value. */

export default function isGraph(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'addUndirectedEdgeWithKey' in value && 'multi' in value
}
