/** A canvas of Obsidian: the edges between its file cards. Source: jsoncanvas.org, version 1.0. */
import { z } from 'zod'
import { toSingleLine } from '../../markdown/single-line.ts'

export interface Canvas {
  readonly edges: readonly CanvasEdge[]
}

interface CanvasEdge {
  /** Paths of files in the vault. */
  readonly from: string
  readonly to: string
  readonly label: string
}

/** Edges of a canvas that are read. */
const maxEdges = 10_000
/** UTF-16 units of a path on a card. */
const maxPath = 1_024

const canvasSchema = z.object({
  nodes: z.array(z.object({ id: z.string(), type: z.string(), file: z.string().max(maxPath).optional() })).optional(),
  edges: z.array(z.object({ fromNode: z.string(), toNode: z.string(), label: z.string().optional() })).optional(),
})

export function isCanvas(path: string): boolean {
  return /\.canvas$/i.test(path)
}

/** Undefined if it is no canvas; an empty file is one without cards. */
export function readCanvas(text: string): Canvas | undefined {
  if (text.trim() === '') return { edges: [] }
  const canvas = canvasSchema.safeParse(parsed(text)).data
  if (!canvas) return undefined
  const files = new Map<string, string>()
  for (const { id, type, file } of canvas.nodes ?? []) if (type === 'file' && file) files.set(id, file)
  const edges: CanvasEdge[] = []
  for (const { fromNode, toNode, label = '' } of (canvas.edges ?? []).slice(0, maxEdges)) {
    const [from, to] = [files.get(fromNode), files.get(toNode)]
    if (from !== undefined && to !== undefined) edges.push({ from, to, label: toSingleLine(label, 500) })
  }
  return { edges }
}

/** Undefined if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined
    throw error
  }
}
