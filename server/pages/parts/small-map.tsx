/** The small map: a drawing of the areas. */

import { type Area, nameOfArea, partOfEach, partsOf, slots } from '../client/areas.ts'
import type { Urls } from '../urls.ts'

/**
 * Sizes in units of the drawing. `height` is a maximum, `around` the margin, `letter` the width of a letter, `named` the
 * smallest radius with a name. `scale` is the largest scale.
 */
const size = { width: 400, height: 300, around: 10, letter: 6.2, named: 16, scale: 2 } as const

interface SmallMapProps {
  readonly urls: Urls
  readonly org: string
  readonly areas: readonly Area[]
}

export function SmallMap({ urls, org, areas }: SmallMapProps) {
  const parts = partsOf(areas)
  const part = partOfEach(areas, parts)
  const shown = [...areas.keys()].filter((at) => (part[at] ?? -1) >= 0)
  const { scale, left, top, width, height } = fitted(parts.flatMap((at) => areas[at] ?? []))
  const place = ({ x, y, r }: Area) => ({
    cx: tenth((x - left) * scale),
    cy: tenth((y - top) * scale),
    r: tenth(r * scale),
  })
  return (
    <svg class="mini" viewBox={`0 0 ${tenth(width)} ${tenth(height)}`}>
      <title>Areas of the graph</title>
      {shown.map((at) => {
        const area = areas[at]
        const look = parts.includes(at) ? 'part' : 'in'
        return area && <circle {...place(area)} class={look} data-c={(part[at] ?? 0) % slots} />
      })}
      {parts.map((at) => {
        const area = areas[at]
        if (area === undefined) return null
        const { node_id: id } = area
        const title = nameOfArea(area, areas)
        const { cx, cy, r } = place(area)
        const name = r < size.named ? '' : shortened(title, (2.3 * r) / size.letter)
        return (
          <a href={id === undefined ? urls.graph(org) : urls.graph(org, { under: id })} aria-label={title}>
            <circle cx={cx} cy={cy} r={r} class="over" data-c={(part[at] ?? 0) % slots} />
            {name !== '' && (
              <text x={cx} y={tenth(cy + 4)} text-anchor="middle">
                {name}
              </text>
            )}
          </a>
        )
      })}
    </svg>
  )
}

function fitted(areas: readonly Area[]) {
  const left = Math.min(...areas.map(({ x, r }) => x - r))
  const top = Math.min(...areas.map(({ y, r }) => y - r))
  const wide = Math.max(...areas.map(({ x, r }) => x + r)) - left
  const high = Math.max(...areas.map(({ y, r }) => y + r)) - top
  const scale = Math.min(size.scale, (size.width - 2 * size.around) / wide, (size.height - 2 * size.around) / high)
  const aside = (size.width / scale - wide) / 2
  const above = size.around / scale
  return { scale, left: left - aside, top: top - above, width: size.width, height: (high + 2 * above) * scale }
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
