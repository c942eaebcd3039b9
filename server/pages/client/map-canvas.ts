/** The canvas of the map: its size, its camera, and what pointers do with it. */

import { Camera, type Point } from './map-camera.ts'

/** Milliseconds of a camera flight. */
const flight = matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 450
/** Pixels that a pointer may move in a click. Factors of zoom: of a pixel of the wheel, and of a double click. */
const [still, wheel, double] = [5, 0.002, 1.8]

interface Acts {
  /** Draws the map in steps. The context is cleared, and its unit is a pixel of the page. */
  draw(context: CanvasRenderingContext2D): Iterable<unknown>
  click(at: Point): void
  hover(at: Point | undefined): void
}

export class MapCanvas {
  readonly camera = new Camera()
  private readonly box: HTMLElement
  private readonly canvas = document.createElement('canvas')
  private readonly context: CanvasRenderingContext2D
  private readonly pointers = new Map<number, Point>()
  /** Pixels that the pointers have moved since the first was pressed. */
  private moved = 0
  private frame = 0
  private flights = 0
  private acts: Acts | undefined

  /** @throws Error if the browser cannot draw on a canvas */
  constructor(box: HTMLElement) {
    this.box = box
    const context = this.canvas.getContext('2d')
    if (!context) throw new Error('This browser has no canvas')
    this.context = context
    this.measure()
  }

  /**
   * Shows the map once it is drawn, a step in each turn. Draws it again after changes of the canvas, the camera and the
   * fonts. `frame` is for a camera that nobody moved.
   */
  async open(acts: Acts, frame: () => void): Promise<void> {
    for (const _ of acts.draw(this.context)) await nextTurn()
    this.acts = acts
    this.box.append(this.canvas)
    this.follow()
    new ResizeObserver(() => {
      if (this.box.clientWidth === this.camera.width && this.box.clientHeight === this.camera.height) return
      this.measure()
      if (this.flights === 0) frame()
      this.draw()
    }).observe(this.box)
    document.fonts.addEventListener('loadingdone', () => this.redraw())
  }

  /** Draws in the next frame. */
  redraw(): void {
    this.frame ||= requestAnimationFrame(() => this.draw())
  }

  /** Moves the camera to a point, with a scale. */
  fly({ x, y }: Point, scale: number): void {
    const { camera } = this
    const from = { x: camera.x, y: camera.y, scale: camera.scale }
    const began = performance.now()
    const mine = ++this.flights
    const step = (now: number) => {
      if (mine !== this.flights) return
      const done = flight === 0 ? 1 : Math.min((now - began) / flight, 1)
      const part = done < 0.5 ? 2 * done * done : 1 - 2 * (1 - done) ** 2
      // The scale changes by the same ratio in each moment.
      camera.scale = from.scale * (scale / from.scale) ** part
      camera.x = from.x + (x - from.x) * part
      camera.y = from.y + (y - from.y) * part
      this.draw()
      if (done < 1) requestAnimationFrame(step)
    }
    requestAnimationFrame(step)
  }

  set cursor(shape: string) {
    this.canvas.style.cursor = shape
  }

  private measure(): void {
    const { clientWidth: width, clientHeight: height } = this.box
    const density = Math.min(devicePixelRatio, 2)
    Object.assign(this.camera, { width, height })
    Object.assign(this.canvas, { width: Math.round(width * density), height: Math.round(height * density) })
    this.context.setTransform(density, 0, 0, density, 0, 0)
  }

  private draw(): void {
    cancelAnimationFrame(this.frame)
    this.frame = 0
    // The first drawing may still be under way.
    if (!this.acts) return
    this.context.clearRect(0, 0, this.camera.width, this.camera.height)
    for (const _ of this.acts.draw(this.context));
  }

  private follow(): void {
    const { canvas, pointers } = this
    canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return
      if (pointers.size === 0) this.moved = 0
      pointers.set(event.pointerId, pointOf(event))
      canvas.setPointerCapture(event.pointerId)
    })
    canvas.addEventListener('pointermove', (event) => this.drag(event))
    canvas.addEventListener('pointerup', (event) => {
      const isLast = pointers.delete(event.pointerId) && pointers.size === 0
      if (isLast && this.moved < still) this.acts?.click(pointOf(event))
    })
    canvas.addEventListener('pointercancel', ({ pointerId }) => pointers.delete(pointerId))
    canvas.addEventListener('pointerleave', () => this.acts?.hover(undefined))
    canvas.addEventListener('dblclick', (event) => this.zoom(double, pointOf(event)))
    const zoomByWheel = (event: WheelEvent) => {
      event.preventDefault()
      this.zoom(Math.exp(-event.deltaY * wheel * (event.deltaMode === 0 ? 1 : 16)), pointOf(event))
    }
    canvas.addEventListener('wheel', zoomByWheel, { passive: false })
  }

  private drag(event: PointerEvent): void {
    const { camera, pointers } = this
    const [before, now] = [pointers.get(event.pointerId), pointOf(event)]
    if (!before) {
      this.acts?.hover(now)
      return
    }
    const [right, down] = [now.x - before.x, now.y - before.y]
    this.moved += Math.abs(right) + Math.abs(down)
    pointers.set(event.pointerId, now)
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1]
    if (other) this.zoom(distance(now, other) / Math.max(distance(before, other), 1), other)
    else if (this.moved >= still) {
      this.flights++
      camera.move(right, down)
      this.redraw()
    }
  }

  private zoom(by: number, at: Point): void {
    this.flights++
    this.camera.zoom(by, at)
    this.redraw()
  }
}

/** Lets the browser answer its user between two steps of work. */
export function nextTurn(): Promise<void> {
  return new Promise((done) => setTimeout(done))
}

function pointOf({ offsetX: x, offsetY: y }: MouseEvent): Point {
  return { x, y }
}

function distance(one: Point, other: Point): number {
  return Math.hypot(one.x - other.x, one.y - other.y)
}
