/** Stands between a command and the service: counts requests, and loses or refuses some. */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Proxy {
  readonly url: string
  /** Calls back when so many requests of the method were answered by the service; their answer is not passed on. */
  after(method: string, count: number, act: () => void): void
  /** The next such request is 503. */
  busy(method: string): void
  /** The answer to the next such request, after that which is 503, does not arrive. */
  loseAnswer(method: string): void
  /** Of the requests, each once. */
  methods(): string[]
  close(): Promise<void>
}

export async function startProxy(target: string): Promise<Proxy> {
  const seen = new Set<string>()
  const acts: { method: string; left: number; act: () => void }[] = []
  const refused: string[] = []
  const lost: string[] = []
  const server = createServer((from, to) => {
    const { method = '', url = '', headers } = from
    seen.add(method)
    if (takeFrom(refused, method)) {
      from.resume()
      to.writeHead(503, { 'retry-after': '1', connection: 'close' }).end('{"detail":"busy","code":"busy"}')
      return
    }
    const isLost = takeFrom(lost, method)
    const on = request(`${target}${url}`, { method, headers }, (answer) => {
      const act = acts.find((one) => one.method === method && --one.left === 0)
      if (!isLost && !act) {
        to.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(to)
        return
      }
      answer.resume().once('end', () => {
        act?.act()
        to.destroy()
      })
    })
    on.on('error', () => to.destroy())
    from.pipe(on)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo // it listens on a port
  return {
    url: `http://127.0.0.1:${port}`,
    after: (method, left, act) => acts.push({ method, left, act }),
    busy: (method) => refused.push(method),
    loseAnswer: (method) => lost.push(method),
    methods: () => [...seen],
    close: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}

function takeFrom(list: string[], method: string): boolean {
  const at = list.indexOf(method)
  if (at >= 0) list.splice(at, 1)
  return at >= 0
}
