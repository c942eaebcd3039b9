/** Shared by the tests of the client. Its server answers as told, also as a real one cannot be made to. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A status, with headers and a body of JSON, or whatever it does with the request; `'silence'`: nothing. */
export type Told =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown }
  | 'silence'
  | 'reset'

export interface Fake {
  readonly url: string
  /** The requests so far, as `GET /orgs`. */
  readonly asked: string[]
  /** From now on: one for each request, the last for all others. */
  tell(...answers: readonly [Told, ...Told[]]): void
  close(): Promise<void>
}

export async function startFake(): Promise<Fake> {
  let told: Told[] = []
  const asked: string[] = []
  const server = createServer((req: IncomingMessage, res: ServerResponse) => {
    asked.push(`${req.method} ${req.url}`)
    const answer = told.length > 1 ? told.shift() : told[0]
    if (answer === 'reset') req.socket.destroy()
    else if (answer !== 'silence' && answer !== undefined) {
      const { status, headers = {}, body } = answer
      res.writeHead(status, { 'content-type': 'application/json', ...headers })
      res.end(typeof body === 'string' ? body : JSON.stringify(body ?? {}))
    }
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo // it listens on a port
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    tell: (...answers) => {
      told = [...answers]
      asked.length = 0
    },
    close: () => {
      server.closeAllConnections()
      return new Promise((done) => server.close(() => done()))
    },
  }
}

/** The error of the call. @throws Error if there was none */
export async function thrownBy(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    (answer) => {
      throw new Error(`It answered ${JSON.stringify(answer)}`)
    },
    (error: unknown) => error,
  )
}
