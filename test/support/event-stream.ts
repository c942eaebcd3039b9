/** A client that follows events, as the HTML standard reads `text/event-stream`. */
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { request as secureRequest } from 'node:https'
import { until } from './until.ts'

/** A block of the stream: its fields, and the comments before them. */
interface Block {
  readonly id?: string
  readonly event?: string
  readonly data?: string
  readonly retry?: string
  readonly comment?: string
}

export interface Follower {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** All blocks so far. */
  readonly blocks: Block[]
  /** The ids of events in `data` so far. */
  ids(): string[]
  /** The cursor that a browser would send after a break. */
  cursor(): string
  /** True when the service has ended the stream. `broken`: in the middle of the response. */
  end(): 'open' | 'ended' | 'broken'
  /** The whole body, if it is not a stream. */
  body(): Promise<ReturnType<typeof JSON.parse>>
  /** Stops reading. */
  pause(): void
  resume(): void
  /** Breaks the connection. */
  close(): void
}

/** Opens a stream. Resolves at the headers of the response. @param ca the certificate of a server with TLS */
export async function follow(
  url: string,
  token: string,
  headers: Record<string, string> = {},
  ca?: Buffer,
): Promise<Follower> {
  const sent: ClientRequest = (ca === undefined ? request : secureRequest)(url, {
    agent: false,
    ...(ca === undefined ? {} : { ca }),
    headers: { accept: 'text/event-stream', authorization: `Bearer ${token}`, ...headers },
  })
  sent.end()
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', resolve)
    sent.once('error', reject)
  })
  const blocks: Block[] = []
  let [text, end] = ['', 'open' as 'open' | 'ended' | 'broken']
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    const parts = (text + chunk).split('\n\n')
    text = parts.pop() ?? ''
    for (const part of parts) blocks.push(blockOf(part))
  })
  response.on('end', () => {
    end = 'ended'
  })
  response.on('error', () => {
    end = 'broken'
  })
  sent.on('error', () => {})
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    blocks,
    ids: () => blocks.flatMap(({ data }) => (data === undefined ? [] : [JSON.parse(data).id])),
    cursor: () => blocks.findLast(({ id }) => id !== undefined)?.id ?? '',
    end: () => end,
    body: async () => {
      await until(() => end !== 'open')
      return JSON.parse(text)
    },
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void sent.destroy(),
  }
}

function blockOf(text: string): Block {
  const fields: Record<string, string> = {}
  for (const line of text.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*): ?(.*)$/.exec(line) ?? [undefined, line]
    fields[name === '' ? 'comment' : name] = value
  }
  return fields
}
