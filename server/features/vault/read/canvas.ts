/** Reads the edges between file cards of an Obsidian canvas. Source: jsoncanvas.org, version 1.0. */
import { z } from 'zod'
import { toSingleLine } from '../../../markdown/single-line.ts'

export interface Canvas {
  readonly edges: readonly CanvasEdge[]
}

interface CanvasEdge {
  /** Paths of files in the vault. */
  readonly from: string
  readonly to: string
  readonly label: string
}

/** Largest number of edges that are read. */
const maxEdges = 10_000
/** Longest path on a card, in UTF-16 units. */
const maxPath = 1_024

const canvasSchema = z.object({
  nodes: z.array(z.object({ id: z.string(), type: z.string(), file: z.string().max(maxPath).optional() })).optional(),
  edges: z.array(z.object({ fromNode: z.string(), toNode: z.string(), label: z.string().optional() })).optional(),
})

export function isCanvas(path: string): boolean {
  return /\.canvas$/i.test(path)
}

/** Reads a canvas; undefined if it is invalid. An empty file is a canvas without cards. */
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

/** Parses JSON; undefined if it is invalid. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined
    throw error
  }
}
