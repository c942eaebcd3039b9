/** The levels of expansion from the matches. */
export type ExpansionDepth = 'none' | 'shallow' | 'standard' | 'deep'

export interface Level {
  hops: 0 | 1 | 2
  children: boolean
  parents: boolean
  connections: boolean
  /** Share of a seed's score that its neighbours may receive: α of index/README.md. */
  strength: number
}

/** Each level reaches all that the one before reaches. */
export const LEVELS: Record<ExpansionDepth, Level> = {
  none: { hops: 0, children: false, parents: false, connections: false, strength: 0 },
  shallow: { hops: 1, children: true, parents: false, connections: false, strength: 0.5 },
  standard: { hops: 1, children: true, parents: true, connections: false, strength: 1 },
  deep: { hops: 2, children: true, parents: true, connections: true, strength: 1 },
}
