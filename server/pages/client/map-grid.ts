/** Finds the dots of the map at a point or in a rectangle. */

import type { Box, Point } from './map-camera.ts'

/** The centres and radii of dots in units, by the number of the dot. */
export interface Places {
  readonly x: ArrayLike<number>
  readonly y: ArrayLike<number>
  readonly size: ArrayLike<number>
}

/** Units of the map: the side of a cell, and the largest radius. */
const side = 128
const largest = 46

export class DotGrid {
  private readonly cells = new Map<string, number[]>()
  private readonly places: Places

  constructor(places: Places) {
    this.places = places
    for (let dot = 0; dot < places.x.length; dot++) {
      const key = `${Math.floor((places.x[dot] ?? 0) / side)} ${Math.floor((places.y[dot] ?? 0) / side)}`
      const cell = this.cells.get(key)
      if (cell) cell.push(dot)
      else this.cells.set(key, [dot])
    }
  }

  /** Returns the dots in a rectangle that have at least this radius. The largest are first. */
  within(box: Box, radius: number): number[] {
    const { size } = this.places
    const found = this.near(box).filter((dot) => (size[dot] ?? 0) >= radius)
    return found.sort((a, b) => (size[b] ?? 0) - (size[a] ?? 0) || a - b)
  }

  /** Returns the dots that a rectangle covers partly. */
  covered(box: Box): number[] {
    return this.near(box).filter((dot) => this.distance(dot, box) < (this.places.size[dot] ?? 0))
  }

  /** Returns the nearest dot around a point. Small dots count as of radius `least`. */
  at({ x, y }: Point, least: number): number | undefined {
    const point = { left: x, right: x, top: y, bottom: y }
    const around = { left: x - least, right: x + least, top: y - least, bottom: y + least }
    const distances = this.near(around).map((dot) => ({ dot, away: this.distance(dot, point) }))
    const met = distances.filter(({ dot, away }) => away < Math.max(this.places.size[dot] ?? 0, least))
    return met.sort((a, b) => a.away - b.away)[0]?.dot
  }

  /** The distance from the centre of a dot to a rectangle. */
  private distance(dot: number, { left, right, top, bottom }: Box): number {
    const [x, y] = [this.places.x[dot] ?? 0, this.places.y[dot] ?? 0]
    return Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom))
  }

  private near({ left, right, top, bottom }: Box): number[] {
    const cellOf = (place: number) => Math.floor(place / side)
    const found: number[] = []
    for (let column = cellOf(left - largest); column <= cellOf(right + largest); column++)
      for (let row = cellOf(top - largest); row <= cellOf(bottom + largest); row++)
        found.push(...(this.cells.get(`${column} ${row}`) ?? []))
    return found
  }
}
