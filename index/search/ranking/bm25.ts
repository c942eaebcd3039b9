/** The formula by which a term scores, with MiniSearch's constants. */
export const K = 1.2
export const B = 0.75

/** In MiniSearch's order of operations (`calcBM25Score`), since products round. @param length distinct terms; @param average of all */
export function bm25(idf: number, count: number, length: number, average: number): number {
  const norm = K * (1 - B + (B * length) / average)
  return idf * ((count * (K + 1)) / (count + norm))
}
