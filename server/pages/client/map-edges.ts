/** Draws the edges of one type on demand. The graph is fetched once. */

import type { MultiGraph } from 'graphology'
import type { Schemas } from '../../../spec/client/api.ts'
import { slotOf } from './areas.ts'
import { fetchJson } from './fetch.ts'
import type { Colours } from './map-colours.ts'

type Edges = Schemas['PublicGraph']['edges']

/** Maximum edges that are drawn. */
const mostEdges = 20_000

/** Fills `box` with a checkbox for each of the most frequent types. */
export async function offerEdges(
  box: HTMLElement,
  graph: MultiGraph,
  places: ReadonlyMap<string, string>,
  colours: () => Colours,
): Promise<void> {
  const told = await fetchJson<Schemas['PublicGraph']>('graph')
  const types = new Map<string, Edges[number][]>()
  for (const edge of told?.edges ?? []) {
    if (!places.has(edge.source) || !places.has(edge.target)) continue
    const name = edge.connection_type || 'parent_of'
    const known = types.get(name)
    if (known) known.push(edge)
    else types.set(name, [edge])
  }
  const largest = [...types].sort(([, a], [, b]) => b.length - a.length)
  box.append(...largest.slice(0, 12).map(([type, edges]) => choice(type, edges)))
  if (largest.length === 0) box.append('There are no edges.')

  function choice(type: string, edges: Edges): HTMLElement {
    const label = document.createElement('label')
    const check = document.createElement('input')
    check.type = 'checkbox'
    const line = document.createElement('span')
    line.className = 'sw line'
    line.dataset.c = String(slotOf(type))
    const count = document.createElement('span')
    count.className = 'n'
    count.textContent = edges.length.toLocaleString('en')
    label.append(check, line, type.replaceAll('_', ' '), count)
    check.addEventListener('change', () => {
      for (const other of box.querySelectorAll('input')) if (other !== check) other.checked = false
      graph.clearEdges()
      if (!check.checked) return
      const color = colours().dim[slotOf(type)]
      for (const { source, target } of edges.slice(0, mostEdges)) {
        const [from, to] = [places.get(source), places.get(target)]
        if (from !== undefined && to !== undefined) graph.addEdge(from, to, { color, size: 0 })
      }
    })
    return label
  }
}
