/** A host of documents of programs. A service's fetches from hooks.example lead to it, on loopback. */

import { guardedFetch } from '../../server/domain/net/guarded-fetch.ts'
import type { Services } from '../../server/domain/services.ts'
import { newCertificate, tlsHost } from '../net/scene.ts'
import { callback, type Program, register } from './connector.ts'

/** A response of the host. */
export interface Served {
  readonly status?: number
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

export interface DocumentHost {
  /** For `startGrove`. */
  readonly fetchDocument: NonNullable<Services['fetchDocument']>
  /** The IP address of hooks.example. */
  address: string
  /** True if nothing answers. */
  isAway: boolean
  serve(name: string, document: unknown, more?: Served): void
  /** The requests for a document so far. */
  times(name: string): number
}

export const documentUrl = (name: string) => `https://hooks.example/${name}.json`

/** A valid document. */
export const validDocument = (name: string, more: object = {}) => ({
  ...{ client_id: documentUrl(name), client_name: 'Claude', redirect_uris: [callback] },
  ...more,
})

/** The program of a document, which asks a service for consent. */
export async function programOf(name: string, grove: { readonly url: string }): Promise<Program> {
  const registered = await register(grove)
  return { ...registered, id: documentUrl(name), request: { ...registered.request, client_id: documentUrl(name) } }
}

/** Starts a host that ends with the test file. */
export async function startDocumentHost(): Promise<DocumentHost> {
  const served = new Map<string, Served>()
  const fetched: string[] = []
  const certificate = await newCertificate()
  const { port } = await tlsHost(certificate, (req, res) => {
    const path = req.url ?? ''
    fetched.push(path)
    const { status = 200, type = 'application/json', headers = {}, body = '' } = served.get(path) ?? { status: 404 }
    res.writeHead(status, { 'content-type': type, ...headers }).end(body)
  })
  const host: DocumentHost = {
    address: '127.0.0.1',
    isAway: false,
    fetchDocument: (request, rules) =>
      guardedFetch(
        { ...request, url: request.url.replace('hooks.example', `hooks.example:${host.isAway ? 1025 : port}`) },
        { ...rules, resolve: async () => [{ address: host.address }], ca: certificate.cert },
      ),
    serve: (name, document, more = {}) =>
      served.set(`/${name}.json`, {
        body: typeof document === 'string' ? document : JSON.stringify(document),
        ...more,
      }),
    times: (name) => fetched.filter((path) => path === `/${name}.json`).length,
  }
  return host
}
