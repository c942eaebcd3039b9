/** Counted nouns: `1 node`, `2 nodes`, `1,000 nodes`. */

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`
}
