/** Lays out siblings by their links. d3-force moves the packed circles. */
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type Simulation } from 'd3-force'
import { packEnclose } from 'd3-hierarchy'

export interface Circle {
  x: number
  y: number
  readonly r: number
}

/** Two different positions among the circles. */
export type Pair = readonly [number, number]

/** Numbers of steps. Circles first pass each other, then keep apart, then only part until none overlap. */
const steps = { passing: 70, apart: 30, parting: 30 } as const
/** The share of `alpha` that each step takes. About 0.001 is left after the last. */
const decay = 0.067
/** How coarse the push of distant circles is. The default, 0.9, takes twice as long. */
const theta = 1.5
/**
 * `reach`: the length of a link between the rims of its ends. `push`: how much circles repel each other, by radius, up
 * to the distance `far`. `gather`: how much all are drawn to the centre.
 */
const force = { reach: 24, push: 14, far: 1_200, gather: 0.06 } as const
/** `room`: the ratio by which a crowd is spread. `nearly`: the ratio of an overlap that is left to the last scaling. */
const [room, nearly] = [1.06, 1.04]
/** More than this ratio is not scaled: the packed places are kept. */
const widest = 1.6

/**
 * Moves packed circles so that linked ones are near each other and none overlap. The same circles and pairs always give
 * the same places. Takes about n · log n operations, and never yields.
 *
 * @param isPinned the first circle stays in the middle
 * @returns the circles around 0, 0
 */
export function pulled(packed: readonly Circle[], pairs: readonly Pair[], isPinned: boolean): Circle[] {
  const nodes = packed.map(({ x, y, r }, at) => ({ x, y, r, ...(isPinned && at === 0 && { fx: x, fy: y }) }))
  const links = pairs.map(([source, target]) => ({ source, target }))
  const radiusAt = (end: unknown) => (end as Circle).r // forceLink replaces positions by nodes
  const simulation = forceSimulation(nodes)
    .stop()
    .alphaDecay(decay)
    .force(
      'links',
      forceLink(links).distance(({ source, target }) => radiusAt(source) + radiusAt(target) + force.reach),
    )
    .force(
      'push',
      forceManyBody<Circle>()
        .strength(({ r }) => -force.push * r)
        .distanceMax(force.far)
        .theta(theta),
    )
    .force('x', forceX(0).strength(force.gather))
    .force('y', forceY(0).strength(force.gather))
    .tick(steps.passing)
    .force(
      'collide',
      forceCollide<Circle>(({ r }) => r),
    )
    .tick(steps.apart)
  part(simulation)
  const ratio = overlapOf(nodes)
  return ratio > widest ? [...packed] : centred(nodes.map(({ x, y, r }) => ({ x: x * ratio, y: y * ratio, r })))
}

/** Lets only the collision act until hardly anything overlaps. Makes room, because a crowd cannot part. */
function part(simulation: Simulation<Circle, undefined>): void {
  for (const name of ['links', 'push', 'x', 'y']) simulation.force(name, null)
  const circles = simulation.nodes()
  for (let step = 0; step < steps.parting && overlapOf(circles) > nearly; step += 5) {
    for (const circle of circles) {
      circle.x *= room
      circle.y *= room
    }
    simulation.tick(5)
  }
}

/** Returns the ratio that ends all overlaps if places are scaled by it. */
function overlapOf(circles: readonly Circle[]): number {
  const sorted = circles.toSorted((a, b) => a.x - b.x)
  const largest = circles.reduce((most, { r }) => Math.max(most, r), 0)
  let ratio = 1
  for (const [at, one] of sorted.entries())
    for (let next = at + 1; next < sorted.length; next++) {
      const other = sorted[next]
      if (!other || other.x - one.x >= one.r + largest) break
      const distance = Math.hypot(other.x - one.x, other.y - one.y)
      if (distance < one.r + other.r) ratio = Math.max(ratio, (one.r + other.r) / distance)
    }
  return ratio
}

function centred(circles: readonly Circle[]): Circle[] {
  const around = packEnclose([...circles])
  return circles.map(({ x, y, r }) => ({ x: x - around.x, y: y - around.y, r }))
}

/** The links between siblings, by the disk that contains both. */
export type SiblingLinks = ReadonlyMap<number, readonly Pair[]>

/**
 * Lifts each link to the disks under the lowest disk that contains both its ends. Duplicates are merged.
 *
 * @param parentOf the number of the disk around each disk or node; -1 for the outermost. An end that is itself the
 *   lowest disk stands for its own dot.
 */
export function liftLinks(parentOf: Int32Array, ends: readonly number[]): SiblingLinks {
  const depths = depthsOf(parentOf)
  const up = (node: number) => parentOf[node] ?? -1
  const found = new Map<number, Map<number, Pair>>()
  for (let at = 0; at < ends.length; at += 2) {
    let [one, other] = [ends[at] ?? 0, ends[at + 1] ?? 0]
    if (one === other) continue
    // The last steps on both ways, which are the siblings.
    let [from, to] = [one, other]
    const depth = (node: number) => depths[node] ?? 0
    while (one !== other) {
      const [isOne, isOther] = [depth(one) >= depth(other), depth(other) >= depth(one)]
      if (isOne) [from, one] = [one, up(one)]
      if (isOther) [to, other] = [other, up(other)]
      if (one < 0 || other < 0) break
    }
    if (one < 0 || one !== other) continue
    // An end that was never left is the disk itself: its own dot.
    const pairs = found.get(one) ?? new Map<number, Pair>()
    found.set(one, pairs.set(Math.min(from, to) * parentOf.length + Math.max(from, to), [from, to]))
  }
  return new Map([...found].map(([disk, pairs]) => [disk, [...pairs.values()]]))
}

function depthsOf(parentOf: Int32Array): Int32Array {
  const depths = new Int32Array(parentOf.length).fill(-1)
  for (const start of parentOf.keys()) {
    const way: number[] = []
    let node = start
    while (node >= 0 && (depths[node] ?? 0) < 0) {
      way.push(node)
      node = parentOf[node] ?? -1
    }
    let depth = node < 0 ? -1 : (depths[node] ?? 0)
    for (const one of way.reverse()) depths[one] = ++depth
  }
  return depths
}
