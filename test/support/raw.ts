/** Sends requests as bytes, for requests that no client library would send. */

import { connect, type Socket } from 'node:net'

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export function connectTo({ url }: { readonly url: string }): Socket {
  const { hostname, port } = new URL(url)
  return connect({ port: Number(port), host: hostname, allowHalfOpen: true })
}

/**
 * Sends `request`, and returns all answers until the service closes. With `ends`, this side of the connection also
 * ends.
 */
export async function sendRaw(
  grove: { readonly url: string },
  request: string | readonly string[],
  { ends = false }: { readonly ends?: boolean } = {},
): Promise<RawAnswer[]> {
  const socket = connectTo(grove)
  const received = read(socket)
  for (const part of [request].flat()) socket.write(part)
  if (ends) socket.end()
  const bytes = await received
  socket.destroy()
  return parse(bytes)
}

/** Reads until the other side ends. A connection that breaks has also ended. */
export async function read(socket: Socket): Promise<Buffer> {
  const parts: Buffer[] = []
  socket.on('data', (part: Buffer) => parts.push(part)).on('error', () => {})
  await new Promise<void>((resolve) => socket.once('end', resolve).once('close', () => resolve()))
  return Buffer.concat(parts)
}

/** Parses consecutive answers. Each has a length, or has no body. */
export function parse(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = []
  for (let rest = bytes; rest.length > 0; ) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) throw new Error(`This is not an answer: ${rest}`)
    const [first = '', ...lines] = rest.subarray(0, end).toString().split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    const length = Number(headers['content-length'] ?? 0)
    const body = rest.subarray(end + 4, end + 4 + length)
    answers.push({ status: Number(first.split(' ')[1]), headers, text: body.toString() })
    rest = rest.subarray(end + 4 + length)
  }
  return answers
}
