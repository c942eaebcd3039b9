/** The providers through which users sign in: `OIDC_<ID>_…`. `config.ts` reads the environment. */

import { z } from 'zod'
import { isLoopback } from './is-loopback.ts'

export interface OidcProvider {
  /** In lower case, as in URLs. */
  readonly id: string
  /** The name that users see. */
  readonly name: string
  /** The URL, as in the provider's tokens. */
  readonly issuer: string
  readonly clientId: string
  /** Absent: the provider knows this service as a public client. */
  readonly clientSecret?: string
  readonly scopes: string
  /** Absent: as `SIGNUP`. */
  readonly signup?: 'on' | 'invite' | 'off'
  /** The claim that users must have, with one of these values. */
  readonly require?: { readonly claim: string; readonly values: readonly string[] }
  /** The claim that confirms the e-mail address. `always`: the provider confirms every address. */
  readonly verified: (typeof verifiedClaims)[number]
  /** True if a confirmed address links an account that exists. */
  readonly linksByEmail: boolean
  /** The organisation that users join. */
  readonly org?: { readonly id: string; readonly role: (typeof joinRoles)[number] }
  /** Hours until a session must pass the provider again; 0: never. */
  readonly maxAgeHours: number
  /** Days after the last pass until tokens of the user are refused; 0: never. */
  readonly tokensDays: number
}

/** A variable that is not valid, and why. */
export interface OidcProblem {
  readonly variable: string
  readonly message: string
}

const verifiedClaims = ['email_verified', 'xms_edov', 'always'] as const
const joinRoles = ['reader', 'contributor', 'editor', 'maintainer'] as const

const beginning = 'OIDC_'
/** A provider's id, and the rest of the name. */
const form = /^OIDC_([A-Z0-9]{1,20})_([A-Z_]+)$/

/** Hours. */
const maxAge = { default: 168, longest: 8_760 } as const
/** Days. */
const longestTokens = 3_650

const optional = (schema: z.ZodString) => schema.optional()
const choice = <const V extends readonly [string, ...string[]]>(values: V) =>
  z.enum(values, { error: `must be one of ${values.join(', ')}` })
const whole = (longest: number) =>
  z
    .string()
    .refine((text) => /^\d+$/.test(text) && Number(text) <= longest, `must be a whole number from 0 to ${longest}`)
    .transform(Number)

const provider = z.object({
  ISSUER: z
    .string({ error: 'is required: the URL of the provider, as its discovery document has it' })
    .refine(isIssuer, 'must be an https URL, or http on this machine, without a query, a fragment or a user')
    .refine((url) => !isTemplate(url), 'names no tenant: use the issuer of your own tenant'),
  CLIENT_ID: z.string({ error: 'is required: the id that the provider gave this service' }),
  CLIENT_SECRET: optional(z.string()),
  NAME: optional(z.string().max(60, 'must have at most 60 characters')),
  SCOPES: z
    .string()
    .refine((text) => text.split(' ').includes('openid'), 'must contain openid')
    .default('openid email profile'),
  SIGNUP: choice(['on', 'invite', 'off']).optional(),
  REQUIRE: z
    .string()
    .regex(/^(?:https?:\/\/)?[^:]+:.+$/, 'must be a claim and its values, such as hd:example.org')
    .optional(),
  VERIFIED: choice(verifiedClaims).default('email_verified'),
  LINK: choice(['off', 'verified_email']).default('off'),
  ORG: z
    .string()
    .regex(
      /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}:(?:reader|contributor|editor|maintainer)$/,
      `must be the id of an organisation and a role of ${joinRoles.join(', ')}, such as 01980a5e-7c41-7d02-8c1b-5e2f7a9b4c02:reader`,
    )
    .optional(),
  MAX_AGE: whole(maxAge.longest).default(maxAge.default),
  TOKENS_DAYS: whole(longestTokens).default(0),
})

function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password, search, hash } = new URL(text)
  if (username !== '' || password !== '' || search !== '' || hash !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}

/** True for an issuer of all tenants. Its tokens name another issuer. */
function isTemplate(text: string): boolean {
  return (
    /[{}]|%7[bd]/i.test(text) || /^https:\/\/login\.microsoftonline\.com\/(common|organizations|consumers)\b/.test(text)
  )
}

/** Returns the names of the providers' secrets. For each, `…_FILE` may name a file. */
export function oidcSecrets(given: Readonly<Record<string, string | undefined>>): string[] {
  const names = Object.keys(given).map((name) => /^OIDC_[A-Z0-9]{1,20}_CLIENT_SECRET(?=(?:_FILE)?$)/.exec(name)?.[0])
  return [...new Set(names.filter((name) => name !== undefined))]
}

const settingNames = [...Object.keys(provider.shape), 'CLIENT_SECRET_FILE']

/** Every variable of the providers that are configured, also those that are not set. */
export function oidcVariables(given: Readonly<Record<string, string | undefined>>): string[] {
  return idsIn(given).flatMap((id) => settingNames.map((setting) => `${beginning}${id}_${setting}`))
}

/** Reads the providers, sorted by id. */
export function readProviders(given: Readonly<Record<string, string | undefined>>): {
  readonly providers: readonly OidcProvider[]
  readonly problems: readonly OidcProblem[]
} {
  const known = oidcVariables(given)
  const problems: OidcProblem[] = Object.keys(given)
    .filter((name) => name.startsWith(beginning) && !known.includes(name))
    .map((variable) => ({
      variable,
      message: `is not a setting of a provider; a name is OIDC_, an id of A-Z and 0-9, and one of ${settingNames.map((name) => `_${name}`).join(', ')}`,
    }))
  const providers: OidcProvider[] = []
  for (const id of idsIn(given)) {
    const settings = Object.keys(provider.shape).map((name) => [name, given[`${beginning}${id}_${name}`]])
    const { data, error } = provider.safeParse(Object.fromEntries(settings))
    if (data === undefined)
      problems.push(
        ...error.issues.map(({ path, message }) => ({ variable: `${beginning}${id}_${path.join('.')}`, message })),
      )
    else providers.push(toProvider(id, data))
  }
  return { providers, problems }
}

function idsIn(given: Readonly<Record<string, string | undefined>>): string[] {
  const settings = [...Object.keys(provider.shape), 'CLIENT_SECRET_FILE']
  const ids = Object.keys(given).map((name) => {
    const [, id, setting = ''] = form.exec(name) ?? []
    return settings.includes(setting) ? id : undefined
  })
  return [...new Set(ids.filter((id) => id !== undefined))].sort()
}

function toProvider(id: string, data: z.output<typeof provider>): OidcProvider {
  const [, claim = '', values = ''] = /^((?:https?:\/\/)?[^:]+):(.+)$/.exec(data.REQUIRE ?? '') ?? []
  const [org = '', role] = data.ORG?.split(':') ?? []
  const joins = joinRoles.find((one) => one === role)
  return {
    id: id.toLowerCase(),
    name: data.NAME ?? id.charAt(0) + id.slice(1).toLowerCase(),
    issuer: data.ISSUER,
    clientId: data.CLIENT_ID,
    ...(data.CLIENT_SECRET === undefined ? {} : { clientSecret: data.CLIENT_SECRET }),
    scopes: data.SCOPES,
    ...(data.SIGNUP === undefined ? {} : { signup: data.SIGNUP }),
    ...(data.REQUIRE === undefined ? {} : { require: { claim, values: values.split(',').map((one) => one.trim()) } }),
    verified: data.VERIFIED,
    linksByEmail: data.LINK === 'verified_email',
    ...(joins === undefined ? {} : { org: { id: org, role: joins } }),
    maxAgeHours: data.MAX_AGE,
    tokensDays: data.TOKENS_DAYS,
  }
}
