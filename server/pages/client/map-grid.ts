/** The dots of the map by place, to find those in a rectangle. */

import type { MultiGraph } from 'graphology'

/** A rectangle in pixels of the canvas. */
export interface Box {
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

interface Place {
  readonly x: number
  readonly y: number
}

interface Dot extends Place {
  readonly node: string
  readonly size: number
}

/** Units of the map: the side of a cell, and the largest radius. */
const side = 128
const largest = 46

export class DotGrid {
  private readonly cells = new Map<string, Dot[]>()

  constructor(graph: MultiGraph) {
    graph.forEachNode((node, { x, y, size }) => {
      const key = `${Math.floor(x / side)} ${Math.floor(y / side)}`
      const dot = { node, x, y, size }
      const cell = this.cells.get(key)
      if (cell) cell.push(dot)
      else this.cells.set(key, [dot])
    })
  }

  /** Returns the dots in a rectangle that have at least this radius in units. The largest are first. */
  within(box: Box, toMap: (at: Place) => Place, radius: number): string[] {
    return this.near(box, toMap)
      .filter(({ size }) => size >= radius)
      .sort((a, b) => b.size - a.size || Number(a.node) - Number(b.node))
      .map(({ node }) => node)
  }

  /** True if the rectangle covers a part of a dot other than this one. */
  meets(own: string, box: Box, toMap: (at: Place) => Place, scale: number): boolean {
    const middle = toMap({ x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 })
    const [wide, high] = [(box.right - box.left) / 2 / scale, (box.bottom - box.top) / 2 / scale]
    return this.near(box, toMap).some(({ node, x, y, size }) => {
      const [aside, above] = [Math.abs(x - middle.x) - wide, Math.abs(y - middle.y) - high]
      return node !== own && Math.hypot(Math.max(aside, 0), Math.max(above, 0)) < size
    })
  }

  private near({ left, right, top, bottom }: Box, toMap: (at: Place) => Place): Dot[] {
    // All corners, because the map may be turned.
    const corners = [left, right].flatMap((x) => [toMap({ x, y: top }), toMap({ x, y: bottom })])
    const ends = (of: readonly number[]) => [
      Math.floor((Math.min(...of) - largest) / side),
      Math.floor((Math.max(...of) + largest) / side),
    ]
    const [west = 0, east = 0] = ends(corners.map(({ x }) => x))
    const [south = 0, north = 0] = ends(corners.map(({ y }) => y))
    const found: Dot[] = []
    for (let column = west; column <= east; column++)
      for (let row = south; row <= north; row++) found.push(...(this.cells.get(`${column} ${row}`) ?? []))
    return found
  }
}
