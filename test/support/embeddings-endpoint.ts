/** An endpoint for vectors on loopback, which answers or fails as a test says. */

import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { closeAfterFile } from './processes.ts'

interface EmbeddingsRequest {
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: {
    readonly model?: string
    readonly input: readonly string[]
    readonly encoding_format?: string
    readonly dimensions?: number
  }
}

/** Answers one request. `answer` sends the vectors that the endpoint would send. */
type Behaviour = (
  request: EmbeddingsRequest,
  res: ServerResponse,
  answer: (change?: (body: AnswerBody) => unknown) => void,
) => void | Promise<void>

export interface AnswerBody {
  readonly object: string
  readonly data: readonly { readonly index: number; readonly embedding: string | readonly number[] }[]
  readonly model?: string
  readonly usage?: { readonly prompt_tokens: number; readonly total_tokens: number }
}

export interface EmbeddingsEndpoint {
  /** The value of EMBEDDINGS_URL. */
  readonly url: string
  readonly port: number
  /** All requests, in their order. */
  readonly requests: EmbeddingsRequest[]
  /** All texts that were received, in their order. */
  texts(): string[]
  /** How requests are answered. Undefined: with vectors. */
  behaviour: Behaviour | undefined
  close(): Promise<void>
}

/** Dimensions of the vectors. */
export const endpointDimensions = 64

/** Hashes words and each three letters of a text into a vector. Texts that share many are near. */
export function lettersVector(text: string): number[] {
  const vector = new Array<number>(endpointDimensions).fill(0)
  const folded = text.toLowerCase()
  const add = (part: string) => {
    const [at = 0, sign = 0] = createHash('sha256').update(part).digest()
    vector[at % endpointDimensions] = (vector[at % endpointDimensions] ?? 0) + (sign % 2 === 0 ? 1 : -1)
  }
  for (const word of folded.match(/[\p{L}\p{N}]+/gu) ?? []) {
    add(` ${word} `)
    for (let at = 0; at + 3 <= word.length; at++) add(word.slice(at, at + 3))
  }
  // No text is without a direction.
  if (!vector.some((value) => value !== 0)) vector[0] = 1
  return vector
}

/** @param address where it listens */
export async function startEmbeddingsEndpoint(address = '127.0.0.1'): Promise<EmbeddingsEndpoint> {
  const server = createServer(async (req, res) => {
    const parts: Buffer[] = []
    for await (const part of req) parts.push(part)
    const request = { url: req.url ?? '', headers: req.headers, body: JSON.parse(Buffer.concat(parts).toString()) }
    endpoint.requests.push(request)
    const answer = (change: (body: AnswerBody) => unknown = (body) => body) =>
      sendJson(res, 200, change(bodyOf(request)))
    if (endpoint.behaviour === undefined) answer()
    else await endpoint.behaviour(request, res, answer)
  })
  server.on('connection', (socket) => socket.on('error', () => {}))
  await new Promise<void>((resolve) => server.listen(0, address, resolve))
  const { port } = server.address() as AddressInfo
  const close = closeAfterFile(async () => {
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  })
  const endpoint: EmbeddingsEndpoint = {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    requests: [],
    texts: () => endpoint.requests.flatMap(({ body }) => body.input),
    behaviour: undefined,
    close,
  }
  return endpoint
}

export function sendJson(
  res: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

function bodyOf({ body: { input, model, encoding_format } }: EmbeddingsRequest): AnswerBody {
  const embedding = (text: string) => {
    const values = lettersVector(text)
    return encoding_format === 'base64' ? Buffer.from(Float32Array.from(values).buffer).toString('base64') : values
  }
  const tokens = Math.ceil(input.join('').length / 4)
  return {
    object: 'list',
    data: input.map((text, index) => ({ object: 'embedding', index, embedding: embedding(text) })),
    ...(model !== undefined && { model }),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}
