/** The interactive map: drawing, selection, search, and its state in the URL. */

import type { Schemas } from '../../../spec/client/api.ts'
import type { Area } from './areas.ts'
import { fetchJson } from './fetch.ts'
import type { Point } from './map-camera.ts'
import { MapCanvas, nextTurn } from './map-canvas.ts'
import { watchColours } from './map-colours.ts'
import { Dots } from './map-dots.ts'
import { fetchGraph, followLinks, type Graph } from './map-edges.ts'
import { fetchMap, framed, type GraphMap, type Stretched, stretch } from './map-layout.ts'
import { drawHover, nameDrawer } from './map-names.ts'
import { edgesOf, showNode } from './map-node.ts'

/** Milliseconds without typing before the search. */
const pause = 150
/** Maximum results of a search by the service, if the map has no titles. */
const mostFound = 50
/** Maps of fewer nodes show their links when they open. */
const fewNodes = 1_000
/** Pixels around the centre of a small dot that belong to it. */
const reach = 7

async function showMap(main: HTMLElement): Promise<void> {
  const say = (text: string) => main.querySelector('.told')?.replaceChildren(text)
  const flat = (text: string) => {
    main.dataset.flat = ''
    say(text)
  }
  if (!document.createElement('canvas').getContext('2d')) return flat('This browser cannot draw the map.')
  const { map: under = '', pages } = main.dataset
  const [map, graph] = await Promise.all([
    fetchMap(under, main),
    Number(pages) < fewNodes ? fetchGraph(under) : undefined,
  ])
  if (!map) return flat('The map could not be loaded.')
  const found = find(main)
  if (map.ids.length > 0 && found) await draw(found, map, graph, say)
}

interface Elements {
  readonly main: HTMLElement
  readonly canvas: HTMLElement
  readonly input: HTMLInputElement
  readonly peek: HTMLElement
}

function find(main: HTMLElement): Elements | undefined {
  const canvas = main.querySelector<HTMLElement>('#canvas')
  const input = main.querySelector<HTMLInputElement>('#mq')
  const peek = main.querySelector<HTMLElement>('#peek')
  return canvas && input && peek ? { main, canvas, input, peek } : undefined
}

/** Opens the map in steps, one a turn. In between, the page answers its user. */
async function draw(
  elements: Elements,
  map: GraphMap,
  graph: Graph | undefined,
  say: (text: string) => void,
): Promise<void> {
  const canvas = new MapCanvas(elements.canvas)
  await nextTurn()
  const layout = stretch(map, canvas.camera)
  const dots = new Dots(layout)
  await nextTurn()
  const view = new MapView(elements, { canvas, layout, dots }, say)
  view.offerLinks(graph)
  await nextTurn()
  await view.open()
  view.followChoices()
  view.followSearch()
  view.followAddress()
  watchColours(() => {
    dots.repaint()
    canvas.redraw()
  })
  elements.canvas.dataset.drawn = String(map.ids.length)
}

interface Drawing {
  readonly canvas: MapCanvas
  readonly layout: Stretched
  readonly dots: Dots
}

/** The page around the drawing: selected node, search, camera and URL. The URL contains the node and the query. */
class MapView {
  private readonly elements: Elements
  private readonly map: GraphMap
  private readonly layout: Stretched
  private readonly dots: Dots
  private readonly canvas: MapCanvas
  private readonly say: (text: string) => void

  constructor(elements: Elements, { canvas, layout, dots }: Drawing, say: (text: string) => void) {
    this.elements = elements
    this.layout = layout
    this.map = layout.map
    this.dots = dots
    this.canvas = canvas
    this.say = say
  }

  /** Draws the map, and what clicks and pointers select. */
  open(): Promise<void> {
    const { canvas, dots, map, layout } = this
    const { camera } = canvas
    const frame = () => camera.fit(...framed(layout))
    let drawNames: ReturnType<typeof nameDrawer> | undefined
    let onRest: (() => void) | undefined
    if (map.titles.length === 0)
      void import('./map-titles.ts').then(({ loadTitles }) => {
        onRest = loadTitles(canvas, dots, layout, this.elements.main)
      })
    function* draw(context: CanvasRenderingContext2D) {
      yield* dots.draw(context, camera)
      drawNames ??= nameDrawer(context, camera, dots, layout)
      yield* drawNames()
      if (dots.hovered !== undefined) drawHover(context, camera, dots, dots.hovered)
      onRest?.()
    }
    const at = (point: Point) => dots.grid.at(camera.toMap(point), reach / camera.scale)
    const click = (point: Point) => {
      const node = at(point)
      if (node !== undefined) this.go(map.ids[node] ?? '', false)
      else if (dots.focus !== undefined) this.go('', false)
    }
    const hover = (point: Point | undefined) => {
      const node = point && at(point)
      if (node === dots.hovered) return
      dots.hovered = node
      canvas.cursor = node === undefined ? '' : 'pointer'
      canvas.redraw()
    }
    frame()
    return canvas.open({ draw, click, hover }, frame)
  }

  /** Selects a node, or none with '', and updates the URL. */
  private go(id: string, isFlown: boolean): void {
    put('focus', id, 'pushState')
    void this.choose(id, isFlown)
  }

  private async choose(id: string, isFlown: boolean): Promise<void> {
    const { dots } = this
    const { main, peek } = this.elements
    const mine = dots.choose(id)
    this.canvas.redraw()
    peek.hidden = true
    if (mine === undefined) return
    if (isFlown) this.flyTo(mine)
    const node = await fetchJson<Schemas['NodeDetails']>(`nodes/${id}`)
    if (!node || dots.focus !== mine) return
    const edges = edgesOf(node)
    dots.connect(node, edges)
    this.canvas.redraw()
    const around = this.areaOf(mine)?.node_id
    showNode(peek, node, edges, {
      around: around === main.dataset.map ? undefined : around,
      choose: (other) => this.go(other, other !== ''),
    })
  }

  private areaOf(node: number): Area | undefined {
    return this.map.areas[this.map.area[node] ?? -1]
  }

  /** Flies to a disk of this radius on the map of the service. */
  private fly(at: Point, r: number): void {
    const { canvas, layout } = this
    const { width, height } = canvas.camera
    canvas.fly(at, (0.42 * Math.min(width / layout.x, height / layout.y)) / r)
  }

  private flyTo(node: number): void {
    const r = Math.min(this.areaOf(node)?.r ?? 1_000, 1_000)
    this.fly({ x: this.map.x[node] ?? 0, y: this.map.y[node] ?? 0 }, Math.max(r, 200))
  }

  /** Selects by clicks on links, and deselects with Escape. */
  followChoices(): void {
    const { main, input } = this.elements
    addEventListener('keydown', ({ key, target }) => {
      if (key === 'Escape' && this.dots.focus !== undefined && target !== input) this.go('', false)
    })
    main.addEventListener('click', (event) => this.followLink(event))
  }

  private followLink(event: MouseEvent): void {
    const link = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-area],[data-node]') : null
    const { node, area } = link?.dataset ?? {}
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return
    const disk = area === undefined ? undefined : this.map.areas.find(({ node_id = '' }) => node_id === area)
    if (disk) this.fly(disk, disk.r)
    else if (node === undefined || !this.dots.places.has(node)) return
    else this.go(node, true)
    event.preventDefault()
    if (disk) link.parentElement?.classList.toggle('open')
  }

  followSearch(): void {
    const { input } = this.elements
    let timer: ReturnType<typeof setTimeout> | undefined
    input.addEventListener('input', () => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        put('q', input.value.trim(), 'replaceState')
        void this.search()
      }, pause)
    })
    input.form?.addEventListener('submit', (event) => event.preventDefault())
  }

  private async search(): Promise<void> {
    const { dots, elements } = this
    const words = elements.input.value.trim()
    dots.found = undefined
    if (words !== '') dots.found = await this.find(words)
    if (words !== elements.input.value.trim()) return
    const { found } = dots
    this.say(found === undefined ? '' : `${found.size.toLocaleString('en')} ${found.size === 1 ? 'page' : 'pages'}`)
    dots.paint()
    this.canvas.redraw()
  }

  private async find(words: string): Promise<Set<number>> {
    const { titles } = this.map
    const small = words.toLowerCase()
    if (titles.length > 0) return new Set([...titles.keys()].filter((at) => titles[at]?.toLowerCase().includes(small)))
    const body = JSON.stringify({ query: words, top_k: mostFound, mode: 'lexical' })
    const headers = { 'content-type': 'application/json' }
    const told = await fetchJson<Schemas['SearchAnswer']>('search/retrieve', { method: 'POST', body, headers })
    return new Set((told?.matches ?? []).flatMap(({ node_id }) => this.dots.places.get(node_id) ?? []))
  }

  /** Shows the state in the URL, now and after each step in the browser's history. */
  followAddress(): void {
    const { input } = this.elements
    const follow = () => {
      const asked = new URLSearchParams(location.search)
      input.value = asked.get('q') ?? ''
      if (input.value !== '' || this.dots.found) void this.search()
      void this.choose(asked.get('focus') ?? '', true)
    }
    addEventListener('popstate', follow)
    if (location.search !== '') follow()
  }

  /** Offers links, if the map has titles. Shows the links of a loaded graph. */
  offerLinks(graph: Graph | undefined): void {
    const { main } = this.elements
    const form = main.querySelector<HTMLElement>('.links')
    const [all, list] = [form?.querySelector('input'), form?.querySelector('fieldset')]
    if (this.map.titles.length === 0 || !form || !all || !list) return
    form.hidden = false
    followLinks(all, list, {
      dots: this.dots,
      under: main.dataset.map ?? '',
      graph,
      redraw: () => this.canvas.redraw(),
    })
  }
}

/** Sets a query parameter of the URL, or removes it if the value is ''. */
function put(name: string, value: string, how: 'pushState' | 'replaceState'): void {
  const url = new URL(location.href)
  if (value === '') url.searchParams.delete(name)
  else url.searchParams.set(name, value)
  history[how](null, '', url)
}

const map = document.querySelector<HTMLElement>('[data-map]')
if (map) void showMap(map)
