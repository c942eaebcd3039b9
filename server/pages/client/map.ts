/** The interactive map: drawing, selection, search, and its state in the URL. */

import Sigma from 'sigma'
import type { Schemas } from '../../../spec/client/api.ts'
import type { Area } from './areas.ts'
import { fetchJson } from './fetch.ts'
import { watchColours } from './map-colours.ts'
import { Dots, fitDots, type GraphMap, pixelsOfUnit } from './map-dots.ts'
import { drawNames, hoverName } from './map-names.ts'
import { edgesOf, showNode } from './map-node.ts'

/** Milliseconds: of a camera flight; without typing before the search. */
const times = { fly: matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 450, pause: 150 } as const
/** Maximum results of a search by the service, if the map has no titles. */
const mostFound = 50
/** Maps of fewer nodes show their links when they open. */
const fewNodes = 300

export async function showMap(main: HTMLElement): Promise<void> {
  const say = (text: string) => main.querySelector('.told')?.replaceChildren(text)
  const flat = (text: string) => {
    main.dataset.flat = ''
    say(text)
  }
  if (!document.createElement('canvas').getContext('webgl2'))
    return flat('This browser cannot draw the map, because it does not support WebGL 2.')
  const under = main.dataset.map ?? ''
  const map = await fetchJson<GraphMap>(`map${under && `?under=${under}`}`)
  if (!map) return flat('The map could not be loaded.')
  if (map.ids.length > 0) draw(main, map, say)
}

interface Elements {
  readonly main: HTMLElement
  readonly canvas: HTMLElement
  readonly input: HTMLInputElement
  readonly peek: HTMLElement
}

function draw(main: HTMLElement, map: GraphMap, say: (text: string) => void): void {
  const canvas = main.querySelector<HTMLElement>('#canvas')
  const input = main.querySelector<HTMLInputElement>('#mq')
  const peek = main.querySelector<HTMLElement>('#peek')
  if (!canvas || !input || !peek) return
  const dots = new Dots(map)
  const view = new MapView({ main, canvas, input, peek }, map, dots, openSigma(canvas, map, dots), say)
  view.followChoices()
  view.followSearch()
  view.followAddress()
  view.loadMore()
  watchColours(() => dots.repaint())
  canvas.dataset.drawn = String(map.ids.length)
}

/** Draws the dots, fitted to the canvas, and the names of nodes and areas. */
function openSigma(canvas: HTMLElement, map: GraphMap, dots: Dots): Sigma {
  const { graph } = dots
  const sigma = new Sigma(graph, canvas, {
    itemSizesReference: 'positions',
    zoomToSizeRatioFunction: (ratio) => ratio,
    renderLabels: false,
    zIndex: true,
    minCameraRatio: 1e-4,
    maxCameraRatio: 2,
    stagePadding: 32,
    defaultDrawNodeHover: hoverName(
      () => canvas.clientWidth,
      () => dots.colours,
    ),
  })
  fitDots(sigma, graph)
  drawNames(sigma, canvas, map.areas, dots, smallestOf(map.weight))
  return sigma
}

/** The page around the drawing: selected node, search, camera and URL. The URL contains the node and the query. */
class MapView {
  private readonly elements: Elements
  private readonly map: GraphMap
  private readonly dots: Dots
  private readonly sigma: Sigma
  private readonly say: (text: string) => void

  constructor(elements: Elements, map: GraphMap, dots: Dots, sigma: Sigma, say: (text: string) => void) {
    this.elements = elements
    this.map = map
    this.dots = dots
    this.sigma = sigma
    this.say = say
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
    peek.hidden = true
    if (mine === '') return
    if (isFlown) this.flyTo(mine)
    const node = await fetchJson<Schemas['NodeDetails']>(`nodes/${id}`)
    if (!node || dots.focus !== mine) return
    const edges = edgesOf(node)
    dots.connect(node, edges, this.map.titles.length === 0)
    const around = this.areaOf(mine)?.node_id
    showNode(peek, node, edges, {
      around: around === main.dataset.map ? undefined : around,
      choose: (other) => this.go(other, other !== ''),
    })
  }

  private areaOf(node: string): Area | undefined {
    return this.map.areas[this.map.area[Number(node)] ?? -1]
  }

  private fly(x: number, y: number, r: number): void {
    const { sigma } = this
    const { width, height } = sigma.getDimensions()
    const camera = sigma.getCamera()
    const middle = sigma.viewportToFramedGraph(sigma.graphToViewport({ x, y: -y }))
    const ratio = (camera.ratio * r * pixelsOfUnit(sigma)) / (0.42 * Math.min(width, height))
    void camera.animate({ x: middle.x, y: middle.y, ratio, angle: 0 }, { duration: times.fly })
  }

  private flyTo(node: string): void {
    const at = Number(node)
    const r = Math.min(this.areaOf(node)?.r ?? 1_000, 1_000)
    this.fly(this.map.x[at] ?? 0, this.map.y[at] ?? 0, Math.max(r, 200))
  }

  /** Selects by clicks on dots, canvas and links, and deselects with Escape. */
  followChoices(): void {
    const { sigma, dots } = this
    const { main, canvas, input } = this.elements
    sigma.on('clickNode', ({ node }) => this.go(this.map.ids[Number(node)] ?? '', false))
    sigma.on('clickStage', () => dots.focus !== '' && this.go('', false))
    for (const [event, shape] of [
      ['enterNode', 'pointer'],
      ['leaveNode', ''],
    ] as const)
      sigma.on(event, () => {
        canvas.style.cursor = shape
      })
    addEventListener('keydown', ({ key, target }) => {
      if (key === 'Escape' && dots.focus !== '' && target !== input) this.go('', false)
    })
    main.addEventListener('click', (event) => this.followLink(event))
  }

  private followLink(event: MouseEvent): void {
    const link = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-area],[data-node]') : null
    const { node, area } = link?.dataset ?? {}
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return
    const disk = area === undefined ? undefined : this.map.areas.find(({ node_id = '' }) => node_id === area)
    if (disk) this.fly(disk.x, disk.y, disk.r)
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
      }, times.pause)
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
  }

  private async find(words: string): Promise<Set<string>> {
    const { titles } = this.map
    const small = words.toLowerCase()
    if (titles.length > 0)
      return new Set([...titles.keys()].filter((at) => titles[at]?.toLowerCase().includes(small)).map(String))
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

  /** Offers links if the map has titles, and shows those of small maps. Otherwise loads titles near the camera. */
  loadMore(): void {
    const { sigma, dots, map } = this
    const { graph, places } = dots
    const form = this.elements.main.querySelector<HTMLElement>('.links')
    const [all, list] = [form?.querySelector('input'), form?.querySelector('fieldset')]
    if (map.titles.length > 0 && form && all && list) {
      form.hidden = false
      all.checked = map.ids.length < fewNodes
      void import('./map-edges.ts').then(({ followLinks }) => followLinks(all, list, dots))
    } else void import('./map-titles.ts').then(({ loadTitles }) => loadTitles(sigma, graph, places, map.areas))
  }
}

function smallestOf(sizes: readonly number[]): number {
  return sizes.reduce((least, size) => Math.min(least, size), Infinity)
}

/** Sets a query parameter of the URL, or removes it if the value is ''. */
function put(name: string, value: string, how: 'pushState' | 'replaceState'): void {
  const url = new URL(location.href)
  if (value === '') url.searchParams.delete(name)
  else url.searchParams.set(name, value)
  history[how](null, '', url)
}
