/** Receivers of webhooks on the loopback interface. */
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { closeAfterFile } from '../support/processes.ts'

/** A message that a receiver got. */
interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly path: string
}

export interface Receiver {
  readonly url: string
  readonly received: Received[]
  /** Answers each message from now on. */
  answer: (response: ServerResponse, message: Received) => void
  close(): Promise<void>
}

/** Starts a receiver that answers 204. */
export async function startReceiver(answer?: Receiver['answer']): Promise<Receiver> {
  const server: Server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const message = { headers: request.headers, body: Buffer.concat(parts).toString(), path: request.url ?? '' }
      receiver.received.push(message)
      receiver.answer(response, message)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    received: [],
    answer: answer ?? status(204),
    close: closeAfterFile(async () => {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    }),
  }
  return receiver
}

/** An answer with a status and headers. */
export function status(code: number, headers: Readonly<Record<string, string>> = {}): Receiver['answer'] {
  return (response) => response.writeHead(code, headers).end()
}
