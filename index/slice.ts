/** A part of an ordered list: at most `limit` rows after the first `offset`. */
export interface Slice {
  readonly limit: number
  readonly offset: number
}
