/** This service as one of several on one database: a cell, with the organisations in its data folder. */
import { LRUCache } from 'lru-cache'
import type { FoundPlace } from '../../../index/credentials/places.ts'

export interface Cell {
  /** As the data folder remembers it. */
  readonly name: string
  /** Where the other cells reach it, without a slash at its end. */
  readonly url: string
  /** Where organisations are, as it was read lately. */
  readonly places: LRUCache<string, FoundPlace>
}

/** Milliseconds for which a place that was read counts. */
const placeMs = 5_000
/** Places that are kept. */
const maxPlaces = 100_000

export function newCell({ name, url }: { readonly name: string; readonly url: string }): Cell {
  return { name, url, places: new LRUCache({ max: maxPlaces, ttl: placeMs }) }
}
