/** Finds problems of the services that the configuration names. Asks them, so it needs the network. */

import type { Config } from '../base/config.ts'
import type { OidcProvider } from '../base/oidc-config.ts'
import { acceptsClient, callbackOf, discover } from '../domain/accounts/oidc/providers.ts'
import { MailError, tryMailServer } from '../domain/mail/transport.ts'

/** Returns the problems found. Each is a sentence. */
export async function checkOnline({ oidc = [], mail, publicUrl }: Config): Promise<string[]> {
  return (await Promise.all([...oidc.map((one) => checkProvider(one, publicUrl)), checkMail(mail)])).flat()
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

/** Messages of libraries that say less than their causes. */
const vague: ReadonlySet<string> = new Set(['something went wrong', 'fetch failed'])

function reasonsOf(error: unknown): string {
  const reasons: string[] = []
  for (let one = error; one instanceof Error; one = one.cause)
    if (!vague.has(one.message) || one.cause === undefined) reasons.push(one.message)
  return [...new Set(reasons)].join(': ')
}
