/** The part of the map that the canvas shows. Sizes of the map are in units, those of the canvas in pixels. */

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Box {
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

/** The most pixels of a unit. The smallest dot is then as wide as most windows. */
const largestScale = 20
/** How much smaller than the whole map a view may be. */
const smallestShare = 0.5

export class Camera {
  width = 0
  height = 0
  /** The point of the map in the middle of the canvas. */
  x = 0
  y = 0
  /** Pixels of a unit. */
  scale = 1
  private smallest = 0

  toScreen({ x, y }: Point): Point {
    return { x: (x - this.x) * this.scale + this.width / 2, y: (y - this.y) * this.scale + this.height / 2 }
  }

  toMap({ x, y }: Point): Point {
    return { x: (x - this.width / 2) / this.scale + this.x, y: (y - this.height / 2) / this.scale + this.y }
  }

  /** The units that are in view. */
  view(): Box {
    const [from, to] = [this.toMap({ x: 0, y: 0 }), this.toMap({ x: this.width, y: this.height })]
    return { left: from.x, right: to.x, top: from.y, bottom: to.y }
  }

  /** Shows the whole box, with this margin in pixels. */
  fit({ left, right, top, bottom }: Box, margin: number, mostScale: number): void {
    const [wide, high] = [this.width - 2 * margin, this.height - 2 * margin]
    this.scale = Math.max(Math.min(wide / (right - left), high / (bottom - top), mostScale), 1e-6)
    this.smallest = this.scale * smallestShare
    this.x = (left + right) / 2
    this.y = (top + bottom) / 2
  }

  move(right: number, down: number): void {
    this.x -= right / this.scale
    this.y -= down / this.scale
  }

  /** Zooms so that the point of the map below `at` stays there. */
  zoom(by: number, at: Point): void {
    const before = this.toMap(at)
    this.scale = Math.min(Math.max(this.scale * by, this.smallest), largestScale)
    const after = this.toMap(at)
    this.x += before.x - after.x
    this.y += before.y - after.y
  }
}

export function meet(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom
}
