/** Operations about the service itself, for operators and new clients. */

import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Config } from '../base/config.ts'
import { AppError } from '../base/errors.ts'
import { getJwks } from '../domain/accounts/tokens.ts'
import { getReadiness } from '../domain/operator/health.ts'
import type { Handlers } from '../http/contract/operations.ts'
import { spec } from '../http/contract/spec.ts'
import { docsPage, docsPolicy } from '../http/responses/docs.ts'
import { bytes, Gzipped, type GzippedBody, withHeaders } from '../http/responses/responses.ts'
import { textFormat } from '../metrics/scrape.ts'

/**
 * Seconds for which clients may cache the keys. It is half of the time between the announcement of a new key and its
 * first signature.
 */
const jwksSeconds = 300

/** Specs by configuration. Compressing one takes 30 ms, and anyone may read it. */
const packedSpecs = new WeakMap<Config, Promise<GzippedBody>>()

/** The spec with the URL under which clients reach this service, gzipped once. */
async function specFor(config: Config): Promise<Gzipped<typeof spec>> {
  const packing = packedSpecs.get(config) ?? packSpec(config.publicUrl)
  packedSpecs.set(config, packing)
  const packed = await packing
  return new Gzipped(packed.version, async () => packed, { isPublic: true })
}

async function packSpec(publicUrl: string | undefined): Promise<GzippedBody> {
  const here = publicUrl === undefined ? spec : { ...spec, servers: [{ url: publicUrl, description: 'This service.' }] }
  const json = Buffer.from(JSON.stringify(here))
  const version = createHash('sha256').update(json).digest('base64url')
  return { version, gzip: await promisify(gzip)(json), length: json.length }
}

export const operationRoutes = {
  getHealth: ({ maintenance }) => ({
    status: 'ok',
    revision: spec.info['x-revision'],
    ...(maintenance.current() && { maintenance: true }),
  }),
  getReadiness: (ctx) => getReadiness(ctx),
  getMetrics: async ({ scrape }) => {
    if (scrape === undefined) throw new AppError('not_found', 'Only a running service has metrics')
    return bytes(Buffer.from(await scrape()), textFormat)
  },
  getSpec: ({ config }) => specFor(config),
  getJwks: async (ctx) => withHeaders(await getJwks(ctx), { 'Cache-Control': `public, max-age=${jwksSeconds}` }),
  getDocs: () => bytes(Buffer.from(docsPage), 'text/html; charset=utf-8', { 'Content-Security-Policy': docsPolicy }),
} satisfies Partial<Handlers>
