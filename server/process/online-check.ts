/** Finds problems of the services that the configuration names. Asks them, so it needs the network. */

import { pino } from 'pino'
import type { Config } from '../base/config.ts'
import type { OidcProvider } from '../base/oidc-config.ts'
import { plural } from '../base/plural.ts'
import { acceptsClient, callbackOf, discover } from '../domain/accounts/oidc/providers.ts'
import { EndpointModel } from '../domain/embeddings/endpoint-model.ts'
import { EmbeddingError } from '../domain/embeddings/model.ts'
import { MailError, tryMailServer } from '../domain/mail/transport.ts'
import { newMetrics } from '../metrics/metrics.ts'

/** Returns the problems found. Each is a sentence. @param note gets a sentence about a service that answers */
export async function checkOnline(config: Config, note: (sentence: string) => void): Promise<string[]> {
  const { oidc = [], mail, publicUrl } = config
  const checks = [...oidc.map((one) => checkProvider(one, publicUrl)), checkMail(mail), checkEndpoint(config, note)]
  return (await Promise.all(checks)).flat()
}

async function checkProvider(provider: OidcProvider, publicUrl: string | undefined): Promise<string[]> {
  const begins = `OIDC_${provider.id.toUpperCase()}`
  try {
    const metadata = await discover(provider)
    const redirectUri = callbackOf(publicUrl ?? 'http://localhost', provider.id)
    return (await acceptsClient(provider, metadata, redirectUri))
      ? []
      : [`${begins}_CLIENT_ID, ${begins}_CLIENT_SECRET: the provider refuses them; copy both again from its settings`]
  } catch (error) {
    return [`${begins}_ISSUER: the provider cannot be discovered: ${reasonsOf(error)}`]
  }
}

async function checkMail(mail: Config['mail']): Promise<string[]> {
  if (mail === undefined) return []
  try {
    await tryMailServer(mail)
    return []
  } catch (error) {
    if (!(error instanceof MailError)) throw error
    return [`SMTP_URL: ${error.message}`]
  }
}

/** Embeds one short text. */
async function checkEndpoint(config: Config, note: (sentence: string) => void): Promise<string[]> {
  const { endpoint } = config.embeddings ?? {}
  if (endpoint === undefined) return []
  const [log, metrics, listening] = [pino({ level: 'silent' }), newMetrics(), { port: config.port }]
  const model = new EndpointModel(endpoint, { config, listening, log, metrics, now: () => new Date() })
  try {
    const [vector] = await model.embedTexts(['Grove'], new AbortController().signal)
    if (vector === undefined) return [`EMBEDDINGS_URL: the endpoint embeds other texts, but refuses "Grove"`]
    note(`The embeddings endpoint works: ${model.name}, ${plural(vector.length, 'dimension')}`)
    return []
  } catch (error) {
    if (!(error instanceof EmbeddingError)) throw error
    return [`EMBEDDINGS_URL: ${error.message}`]
  } finally {
    await model.close()
  }
}

/** Messages of libraries that say less than their causes. */
const vague: ReadonlySet<string> = new Set(['something went wrong', 'fetch failed'])

function reasonsOf(error: unknown): string {
  const reasons: string[] = []
  for (let one = error; one instanceof Error; one = one.cause)
    if (!vague.has(one.message) || one.cause === undefined) reasons.push(one.message)
  return [...new Set(reasons)].join(': ')
}
