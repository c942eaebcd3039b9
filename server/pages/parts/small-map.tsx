/** The small map: a drawing of the areas, and of the dots of few nodes. */

import type { AnswerOf } from '../../http/in-process.ts'
import { type Area, nameOfArea, partOfEach, partsOf, slotsOfParts } from '../client/areas.ts'
import type { Urls } from '../urls.ts'

/** The map, with the columns of few nodes. */
export type SmallMapFacts = Pick<AnswerOf<'getMap'>, 'areas' | 'ids' | 'titles' | 'x' | 'y' | 'area' | 'weight'>

/** The most nodes that are drawn as dots. Up to `mostNamed`, dots have names and links. */
export const mostDots = 500
const mostNamed = 24

/**
 * Sizes in units of the drawing. `few` is the width with named dots, `height` a maximum, `around` the margin. `letter` is
 * the width of a letter, `line` the height of a name. `named` is the smallest radius with a name, and `below` the widest
 * name of a dot. `scale` is a maximum: no dot is wider than 56 units.
 */
const size = {
  width: 400,
  few: 300,
  height: 300,
  around: 22,
  letter: 6.2,
  named: 16,
  line: 13,
  below: 110,
  scale: 0.6,
} as const

interface SmallMapProps {
  readonly urls: Urls
  readonly org: string
  readonly map: SmallMapFacts
}

export function SmallMap({ urls, org, map }: SmallMapProps) {
  const { areas } = map
  const parts = partsOf(areas)
  const part = partOfEach(areas, parts)
  const slots = slotsOfParts(areas, parts)
  const slotAt = (area: number) => slots[part[area] ?? -1]
  const hasDots = map.ids.length > 0
  const hasNamedAreas = map.ids.length > mostNamed || !hasDots
  const shown = [...areas.keys()].filter((at) => hasDots || (part[at] ?? -1) >= 0)
  const outermost = areas.filter(({ within }) => within < 0)
  const fit = fitted(
    hasDots ? outermost : parts.flatMap((at) => areas[at] ?? []),
    hasNamedAreas ? size.width : size.few,
  )
  return (
    <svg class="mini" viewBox={`0 0 ${tenth(fit.width)} ${tenth(fit.height)}`}>
      <title>Areas of the graph</title>
      {shown.map((at) => {
        const area = areas[at]
        // The disk of all nodes says nothing next to its dots.
        if (!area || (hasDots && areas.length === 1 && area.node_id === undefined)) return null
        const look = parts.includes(at) || hasDots ? 'part' : 'in'
        return <circle {...placed(area, fit)} class={look} data-c={slotAt(at)} />
      })}
      {hasNamedAreas && hasDots && <Dots map={map} fit={fit} slotAt={slotAt} />}
      {parts.map((at) => {
        const area = areas[at]
        return area && <AreaLink {...{ urls, org, area, areas, fit, hasNamedAreas }} slot={slotAt(at)} />
      })}
      {!hasNamedAreas && <NamedDots {...{ urls, org, map, fit, slotAt }} />}
    </svg>
  )
}

interface AreaLinkProps {
  readonly urls: Urls
  readonly org: string
  readonly area: Area
  readonly areas: readonly Area[]
  readonly fit: Fit
  readonly slot: number | undefined
  readonly hasNamedAreas: boolean
}

function AreaLink({ urls, org, area, areas, fit, slot, hasNamedAreas }: AreaLinkProps) {
  const { node_id: id } = area
  const title = nameOfArea(area, areas)
  const { cx, cy, r } = placed(area, fit)
  const isWhole = id === undefined && areas.length === 1
  const name = !hasNamedAreas || r < size.named || isWhole ? '' : shortened(title, (2.3 * r) / size.letter)
  return (
    <a href={id === undefined ? urls.graph(org) : urls.graph(org, { under: id })} aria-label={title}>
      <circle cx={cx} cy={cy} r={r} class="over" data-c={slot} />
      {name !== '' && (
        <text x={cx} y={tenth(cy + 4)} text-anchor="middle">
          {name}
        </text>
      )}
    </a>
  )
}

interface DotsProps {
  readonly map: SmallMapFacts
  readonly fit: Fit
  slotAt(area: number): number | undefined
}

/** Draws dots as points of one path for each colour and radius. Circles would be longer. */
function Dots({ map, fit, slotAt }: DotsProps) {
  const paths = new Map<string, { readonly slot: number | undefined; readonly width: number; path: string }>()
  for (const at of map.ids.keys()) {
    const { cx, cy, r } = dotOf(map, at, fit)
    const slot = slotAt(map.area[at] ?? -1)
    const known = paths.get(`${slot} ${r}`) ?? { slot, width: 2 * r, path: '' }
    known.path += `M${cx} ${cy}h0`
    paths.set(`${slot} ${r}`, known)
  }
  return (
    <>
      {[...paths.values()].map(({ slot, width, path }) => (
        <path class="dots" d={path} stroke-width={tenth(width)} data-c={slot} />
      ))}
    </>
  )
}

/** Draws each dot as a link, with its name where there is room. */
function NamedDots({ urls, org, map, fit, slotAt }: DotsProps & { readonly urls: Urls; readonly org: string }) {
  const dots = map.ids.map((id, at) => ({ id, at, title: map.titles[at] ?? '', ...dotOf(map, at, fit) }))
  const names = namesNear(dots, fit)
  return (
    <>
      {dots.map(({ id, at, title, cx, cy, r }) => {
        const name = names[at]
        return (
          <a href={urls.node(org, id, title)}>
            <title>{title}</title>
            <circle cx={cx} cy={cy} r={r} class="node" data-c={slotAt(map.area[at] ?? -1)} />
            {name && (
              <text x={name.x} y={name.y} text-anchor="middle">
                {name.text}
              </text>
            )}
          </a>
        )
      })}
    </>
  )
}

interface NamedDot {
  readonly title: string
  readonly cx: number
  readonly cy: number
  readonly r: number
}

/** Finds room for each name below its dot, or above it. */
function namesNear(dots: readonly NamedDot[], { width, height }: Fit) {
  const taken: { readonly x: number; readonly y: number; readonly half: number }[] = []
  const isFree = (own: NamedDot, x: number, y: number, half: number) =>
    y > size.line &&
    y < height - 2 &&
    dots.every((other) => {
      const [aside, above] = [Math.abs(other.cx - x) - half, Math.abs(other.cy - y + 4) - size.line / 2]
      return other === own || Math.hypot(Math.max(aside, 0), Math.max(above, 0)) >= other.r
    }) &&
    taken.every((other) => Math.abs(other.y - y) >= size.line || Math.abs(other.x - x) > other.half + half)
  return dots.map((dot) => {
    const text = shortened(dot.title, size.below / size.letter)
    const half = ([...text].length * size.letter) / 2
    const x = tenth(Math.min(Math.max(dot.cx, half + 2), width - half - 2))
    const y = [dot.cy + dot.r + 11, dot.cy - dot.r - 4].map(tenth).find((line) => isFree(dot, x, line, half))
    if (y === undefined) return undefined
    taken.push({ x, y, half })
    return { text, x, y }
  })
}

type Fit = ReturnType<typeof fitted>

/** Fits areas into the drawing. Dots of few nodes are not drawn larger than the largest scale allows. */
function fitted(areas: readonly Area[], width: number) {
  const left = Math.min(...areas.map(({ x, r }) => x - r))
  const top = Math.min(...areas.map(({ y, r }) => y - r))
  const wide = Math.max(...areas.map(({ x, r }) => x + r)) - left
  const high = Math.max(...areas.map(({ y, r }) => y + r)) - top
  const scale = Math.min(size.scale, (width - 2 * size.around) / wide, (size.height - 2 * size.around) / high)
  const aside = (width / scale - wide) / 2
  const above = size.around / scale
  return { scale, left: left - aside, top: top - above, width, height: (high + 2 * above) * scale }
}

function placed({ x, y, r }: Pick<Area, 'x' | 'y' | 'r'>, { scale, left, top }: Fit) {
  return { cx: tenth((x - left) * scale), cy: tenth((y - top) * scale), r: tenth(r * scale) }
}

function dotOf({ x, y, weight }: SmallMapFacts, at: number, fit: Fit) {
  return placed({ x: x[at] ?? 0, y: y[at] ?? 0, r: weight[at] ?? 0 }, fit)
}

function tenth(number: number): number {
  return Math.round(number * 10) / 10
}

/** Shortens a name to the room; '' if not even a few letters fit. */
function shortened(name: string, room: number): string {
  const letters = [...name]
  if (letters.length <= room) return name
  return room < 5
    ? ''
    : `${letters
        .slice(0, Math.floor(room) - 1)
        .join('')
        .trimEnd()}…`
}
