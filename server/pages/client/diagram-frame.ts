/** Runs Mermaid in a sandboxed frame, and answers each source with an SVG. It can load only its own scripts. */

import mermaid from 'mermaid'
import * as limits from '../../base/limits.ts'
import type { DiagramRequest } from './diagrams.ts'

const fontFamily = 'ui-sans-serif, system-ui, sans-serif'

addEventListener('message', ({ source, origin, data }: MessageEvent<DiagramRequest>) => {
  // The frame's own origin is opaque, but its URL has that of the page.
  if (source === parent && origin === location.origin) void answer(data)
})
parent.postMessage('ready', location.origin)

async function answer(request: DiagramRequest): Promise<void> {
  const { id } = request
  try {
    parent.postMessage({ id, ...(await draw(request)) }, location.origin)
  } catch (error) {
    const { message } = error instanceof Error ? error : { message: String(error) }
    // The rest lists the tokens of the grammar that could follow.
    const [says] = message.split('\nExpecting')
    parent.postMessage({ id, error: says }, location.origin)
  }
}

async function draw({ id, source, isDark, colours }: DiagramRequest) {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    suppressErrorRendering: true,
    maxTextSize: limits.diagramUnits,
    maxEdges: limits.diagramEdges,
    secure: [
      'secure',
      'securityLevel',
      'startOnLoad',
      'maxTextSize',
      'maxEdges',
      'suppressErrorRendering',
      'htmlLabels',
    ],
    // Browsers do not show HTML in an SVG that is an image.
    htmlLabels: false,
    fontFamily,
    theme: 'base',
    themeVariables: themeOf(colours, isDark),
  })
  const { svg } = await mermaid.render(`diagram-${id}`, source)
  const drawing = new DOMParser().parseFromString(svg, 'text/html').querySelector('svg')
  if (!drawing) throw new Error('Mermaid has drawn nothing')
  const { width, height } = sizeOf(drawing)
  drawing.removeAttribute('style')
  drawing.setAttribute('width', String(width))
  drawing.setAttribute('height', String(height))
  const title = drawing.querySelector('title')?.textContent?.trim()
  const kind = (drawing.getAttribute('aria-roledescription') ?? '').replace(/-v2$|Diagram$/i, '')
  // Serialised as XML, because an image must be well-formed.
  return {
    svg: new XMLSerializer().serializeToString(drawing),
    width,
    height,
    label: title || `Diagram (${kind || 'Mermaid'})`,
  }
}

function sizeOf(drawing: SVGSVGElement): { readonly width: number; readonly height: number } {
  const { width, height } = drawing.viewBox.baseVal
  return { width: Math.max(1, Math.ceil(width)), height: Math.max(1, Math.ceil(height)) }
}

/** Returns the variables of Mermaid's theme `base`. It derives all others. */
function themeOf(colours: DiagramRequest['colours'], isDark: boolean): Record<string, string | boolean> {
  const of = (name: string) => {
    const colour = colours[name] ?? ''
    return /^#[\da-f]{3,8}$/i.test(colour) ? colour : '#888'
  }
  return {
    darkMode: isDark,
    fontFamily,
    background: of('paper'),
    primaryColor: of('accent-soft'),
    primaryTextColor: of('ink'),
    primaryBorderColor: of('accent'),
    secondaryColor: of('info'),
    secondaryTextColor: of('ink'),
    tertiaryColor: of('sunken'),
    tertiaryTextColor: of('ink'),
    tertiaryBorderColor: of('line2'),
    lineColor: of('ink3'),
    textColor: of('ink'),
    titleColor: of('ink'),
    edgeLabelBackground: of('paper'),
    ...Object.fromEntries(
      ['accent', 'info-ink', 'warn-ink', 'del-ink', 'ink3'].map((name, at) => [`pie${at + 1}`, of(name)]),
    ),
    pieSectionTextColor: of('on-accent'),
    pieOpacity: '1',
    pieStrokeColor: of('paper'),
    pieOuterStrokeColor: of('line2'),
    noteBkgColor: of('mark'),
    noteTextColor: of('ink'),
  }
}
