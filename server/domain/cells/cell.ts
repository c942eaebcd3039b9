/** This service as one of several on one database: a cell, with the organisations in its data folder. */
import { LRUCache } from 'lru-cache'
import type { FoundPlace } from '../../../index/credentials/places.ts'
import type { Lease } from './lease.ts'

export interface Cell {
  /** As the data folder remembers it. */
  readonly name: string
  /** Where the other cells reach it, without a slash at its end. */
  readonly url: string
  /** Where organisations are, as it was read lately. */
  readonly places: LRUCache<string, FoundPlace>
  /** By which it writes. */
  readonly lease: Lease
}

/** Milliseconds for which a place that was read counts. */
const placeMs = 5_000
/** Places that are kept. */
const maxPlaces = 100_000

export function newCell({ name, url }: { readonly name: string; readonly url: string }, lease: Lease): Cell {
  return { name, url, lease, places: new LRUCache({ max: maxPlaces, ttl: placeMs }) }
}

/** False: a cell without its lease, whose background jobs wait. */
export function mayWrite({ cell }: { readonly cell?: Cell }): boolean {
  return cell?.lease.isHeld() ?? true
}
