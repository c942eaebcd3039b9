/** The map in a browser: dots that sigma draws, the chosen node with its edges, what is searched, and the address of all that. */

import { MultiGraph } from 'graphology'
import Sigma from 'sigma'
import type { Schemas } from '../../../spec/client/api.ts'
import { partOfEach, partsOf, slotOf, slots } from './areas.ts'
import { ask } from './asking.ts'
import { readColours, watchColours } from './map-colours.ts'
import { fewNames, fitDots, nameDots, namedFrom, pixelsOfUnit, spreadNames } from './map-dots.ts'
import { nameAreas } from './map-names.ts'
import { edgesOf, showNode } from './map-node.ts'

type GraphMap = Schemas['GraphMap']

/** Milliseconds of a flight; without typing before the search. */
const times = { fly: matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 450, pause: 150 } as const
/** Results of a search by the service, where the map has no titles. */
const mostFound = 50

export async function showMap(main: HTMLElement): Promise<void> {
  const say = (text: string) => main.querySelector('.told')?.replaceChildren(text)
  const flat = (text: string) => {
    main.dataset.flat = ''
    say(text)
  }
  if (!document.createElement('canvas').getContext('webgl2')) return flat('This browser draws no map: it has no WebGL.')
  const under = main.dataset.map ?? ''
  const map = await ask<GraphMap>(`map${under && `?under=${under}`}`)
  if (!map) return flat('The map could not be read.')
  if (map.ids.length > 0) draw(main, map, say)
}

function draw(main: HTMLElement, map: GraphMap, say: (text: string) => void): void {
  const canvas = main.querySelector<HTMLElement>('#canvas')
  const input = main.querySelector<HTMLInputElement>('#mq')
  const peek = main.querySelector<HTMLElement>('#peek')
  if (!canvas || !input || !peek) return
  const { areas, ids, titles } = map
  const parts = partsOf(areas)
  const part = partOfEach(areas, parts)
  const slot = Int8Array.from(map.area, (at) => Math.max(part[at] ?? -1, -1) % slots)
  const places = new Map(ids.map((id, at) => [id, String(at)]))
  const graph = new MultiGraph()
  // Those have a name above the canvas.
  const named = new Set(areas.map(({ node_id }) => node_id))
  for (const [at, id] of ids.entries()) {
    const [x = 0, y = 0, size = 1] = [map.x[at], map.y[at], map.weight[at]]
    graph.addNode(at, { x, y: -y, size, label: named.has(id) ? '' : (titles[at] ?? ''), zIndex: 0 })
  }
  let colours = readColours()
  let focus = ''
  let near = new Set<string>()
  let found: ReadonlySet<string> | undefined

  /** All colours at once; moving the camera sets none. */
  const paint = () => {
    const isShown = (node: string) =>
      (found === undefined && focus === '') || found?.has(node) === true || near.has(node) || node === focus
    graph.updateEachNodeAttributes(
      (node, now) => {
        const shown = isShown(node)
        const mine = slot[Number(node)] ?? -1
        now.color = mine < 0 ? (shown ? colours.rest : colours.restDim) : (shown ? colours.of : colours.dim)[mine]
        now.zIndex = node === focus ? 2 : shown ? 1 : 0
        now.forceLabel = node === focus || (near.has(node) && near.size < 30)
        return now
      },
      { attributes: ['color', 'zIndex', 'forceLabel'] },
    )
  }
  paint()
  const drawName = nameDots(
    () => canvas.clientWidth,
    () => colours,
  )
  const sigma = new Sigma(graph, canvas, {
    itemSizesReference: 'positions',
    zoomToSizeRatioFunction: (ratio) => ratio,
    labelRenderedSizeThreshold: namedFrom,
    ...fewNames,
    zIndex: true,
    minCameraRatio: 1e-4,
    maxCameraRatio: 2,
    stagePadding: 16,
    defaultDrawNodeLabel: drawName,
    defaultDrawNodeHover: drawName,
  })
  fitDots(sigma, graph)
  const above = areas.flatMap(({ node_id = '', title }) => {
    const node = places.get(node_id)
    return node === undefined ? [] : [[node, title] as const]
  })
  const areInside = spreadNames(sigma, graph, smallestOf(map.weight), new Map(above))
  nameAreas(sigma, canvas, areas, areInside, ({ node_id = '', x, y }) => {
    const at = places.get(node_id)
    return at === undefined ? { x, y: -y } : { x: map.x[Number(at)] ?? x, y: -(map.y[Number(at)] ?? y) }
  })

  const fly = (x: number, y: number, r: number) => {
    const { width, height } = sigma.getDimensions()
    const camera = sigma.getCamera()
    const middle = sigma.viewportToFramedGraph(sigma.graphToViewport({ x, y: -y }))
    const ratio = (camera.ratio * r * pixelsOfUnit(sigma)) / (0.42 * Math.min(width, height))
    void camera.animate({ x: middle.x, y: middle.y, ratio, angle: 0 }, { duration: times.fly })
  }
  const flyTo = (node: string) => {
    const at = Number(node)
    const area = areas[map.area[at] ?? -1]
    const r = Math.min(area?.r ?? 1_000, 1_000)
    fly(map.x[at] ?? 0, map.y[at] ?? 0, Math.max(r, 200))
  }

  const choose = async (id: string, isFlown: boolean) => {
    focus = places.get(id) ?? ''
    near = new Set()
    graph.clearEdges()
    for (const box of main.querySelectorAll<HTMLInputElement>('details input')) box.checked = false
    peek.hidden = true
    paint()
    if (focus === '') return
    const mine = focus
    if (isFlown) flyTo(mine)
    const node = await ask<Schemas['NodeDetails']>(`nodes/${id}`)
    if (!node || focus !== mine) return
    if (titles.length === 0) graph.setNodeAttribute(mine, 'label', node.title)
    const edges = edgesOf(node)
    for (const { other, type, isOut, title } of edges) {
      const end = places.get(other)
      if (end === undefined || end === mine) continue
      near.add(end)
      if (titles.length === 0) graph.setNodeAttribute(end, 'label', title)
      const color = type === '' ? colours.rest : colours.of[slotOf(type)]
      graph.addEdge(isOut ? mine : end, isOut ? end : mine, { color, size: 0 })
    }
    paint()
    const around = areas[map.area[Number(mine)] ?? -1]?.node_id
    showNode(peek, node, edges, {
      around: around === main.dataset.map ? undefined : around,
      choose: (other) => go(other, other !== ''),
    })
  }
  /** Chooses, and puts it into the address. */
  const go = (id: string, isFlown: boolean) => {
    put('focus', id, 'pushState')
    void choose(id, isFlown)
  }
  sigma.on('clickNode', ({ node }) => go(ids[Number(node)] ?? '', false))
  sigma.on('clickStage', () => focus !== '' && go('', false))
  for (const [event, shape] of [
    ['enterNode', 'pointer'],
    ['leaveNode', ''],
  ] as const)
    sigma.on(event, () => {
      canvas.style.cursor = shape
    })
  addEventListener('keydown', ({ key, target }) => {
    if (key === 'Escape' && focus !== '' && target !== input) go('', false)
  })
  main.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-area],[data-node]') : null
    const { node, area } = link?.dataset ?? {}
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return
    const disk = area === undefined ? undefined : areas.find(({ node_id = '' }) => node_id === area)
    if (disk) fly(disk.x, disk.y, disk.r)
    else if (node === undefined || !places.has(node)) return
    else go(node, true)
    event.preventDefault()
    if (disk) link.parentElement?.classList.toggle('open')
  })

  const search = async () => {
    const words = input.value.trim()
    found = undefined
    if (words !== '') found = await find(words)
    if (words !== input.value.trim()) return
    say(found === undefined ? '' : `${found.size.toLocaleString('en')} ${found.size === 1 ? 'node' : 'nodes'}`)
    paint()
  }
  const find = async (words: string): Promise<Set<string>> => {
    const small = words.toLowerCase()
    if (titles.length > 0)
      return new Set([...titles.keys()].filter((at) => titles[at]?.toLowerCase().includes(small)).map(String))
    const body = JSON.stringify({ query: words, top_k: mostFound })
    const headers = { 'content-type': 'application/json' }
    const told = await ask<Schemas['SearchAnswer']>('search/retrieve', { method: 'POST', body, headers })
    return new Set((told?.matches ?? []).flatMap(({ node_id }) => places.get(node_id) ?? []))
  }
  let timer: ReturnType<typeof setTimeout> | undefined
  input.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      put('q', input.value.trim(), 'replaceState')
      void search()
    }, times.pause)
  })
  input.form?.addEventListener('submit', (event) => event.preventDefault())

  const follow = () => {
    const asked = new URLSearchParams(location.search)
    input.value = asked.get('q') ?? ''
    if (input.value !== '' || found) void search()
    void choose(asked.get('focus') ?? '', true)
  }
  addEventListener('popstate', follow)
  if (location.search !== '') follow()

  const edges = main.querySelector('details')
  if (titles.length > 0 && edges) {
    edges.hidden = false
    const offer = () =>
      import('./map-edges.ts').then(({ offerEdges }) => offerEdges(edges, graph, places, () => colours))
    edges.addEventListener('toggle', () => void offer(), { once: true })
  } else void import('./map-titles.ts').then(({ loadTitles }) => loadTitles(sigma, graph, places, areas))
  watchColours(() => {
    colours = readColours()
    paint()
  })
  canvas.dataset.drawn = String(ids.length)
}

function smallestOf(sizes: readonly number[]): number {
  return sizes.reduce((least, size) => Math.min(least, size), Infinity)
}

/** A part of the address, gone where it is empty. */
function put(name: string, value: string, how: 'pushState' | 'replaceState'): void {
  const url = new URL(location.href)
  if (value === '') url.searchParams.delete(name)
  else url.searchParams.set(name, value)
  history[how](null, '', url)
}
