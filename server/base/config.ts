/** Configuration by the operator. The only file that reads the environment. */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import type { PostgresAddress } from '../../index/postgres/pool.ts'
import { isAllowEntry, parseNetwork } from './allow-list.ts'
import {
  areAllowEntries,
  areEmbeddingsOrgs,
  type EmbeddingsConfig,
  embeddingsOf,
  isEndpointUrl,
  leastBudget,
} from './embeddings-config.ts'
import { excerpt } from './excerpt.ts'
import { isLoopback } from './is-loopback.ts'
import * as limits from './limits.ts'
import { type OidcProvider, oidcSecrets, oidcVariables, readProviders } from './oidc-config.ts'
import { defaultRedirects, isRedirectEntry } from './redirects.ts'

export interface Config {
  /** 0: any free port. */
  readonly port: number
  readonly host: string
  /** Absolute. */
  readonly dataDir: string
  /** Without a trailing slash. Also the issuer and audience of tokens. */
  readonly publicUrl?: string
  /** IP addresses or networks of proxies whose X-Forwarded headers are trusted. Absent: none. */
  readonly trustProxy?: readonly string[]
  readonly logLevel: LogLevel
  /** The requests that get a log line. `errors`: only those that were refused, failed or broke off. */
  readonly logRequests: LogRequests
  readonly rateLimit: boolean
  /** The bearer token for metrics. Absent: they are not served. */
  readonly metricsToken?: string
  /** True if new accounts hide their e-mail address from Git by default. */
  readonly hideEmail?: boolean
  /** Processes that share the port; 1: a single process. */
  readonly workers: number
  /** Sign-up is possible for anyone (open), with an invitation (invite), or not at all (closed). */
  readonly signup: (typeof signupModes)[number]
  /** Bytes of memory for the search indexes of each process. */
  readonly searchMemory: number
  /** CPU time that Git may use for one push before its refs move. Large pushes get more. */
  readonly pushCpuSeconds: number
  /** 32 bytes in base64 that encrypt the secrets of webhooks. Absent: they are stored as they are. */
  readonly secretKey?: string
  /** The former `secretKey`. Secrets that it encrypts are read, and encrypted again. */
  readonly secretKeyOld?: string
  /** Days for which deleted nodes and organisations are kept. */
  readonly trashDays: number
  /** Days without activity after which a change set is closed. 0: never. */
  readonly proposalDays: number
  /** Bytes that are freed when the disk is full, for deleting and signing in. 0 or absent: none. */
  readonly diskReserve?: number
  /** The most nodes of an organisation. 0 or absent: no limit. */
  readonly quotaNodes?: number
  /** The most bytes of an organisation. 0 or absent: no limit. */
  readonly quotaBytes?: number
  /** The most organisations that a user may own when creating one. 0 or absent: no limit. */
  readonly quotaOrgs?: number
  /** Days for which events are kept. */
  readonly eventRetentionDays: number
  /** Days for which the audit is kept; 0: for ever. Absent: a year. */
  readonly auditRetentionDays?: number
  /** False: clones and fetches are not in the audit. */
  readonly auditFetches?: boolean
  /**
   * `postgres://…`, perhaps with a password. Holds accounts, sessions, invitations and keys. Absent:
   * credentials.sqlite.
   */
  readonly databaseUrl?: string
  /** Connections that each process opens to it. */
  readonly databasePool?: number
  /** Networks and host names that may be fetched although they are not public. Absent: there are none. */
  readonly fetchAllow?: readonly string[]
  /** True if webhooks may have http URLs. */
  readonly webhookHttp?: boolean
  /** False: programs cannot connect by OAuth. Absent: they can. */
  readonly oauth?: boolean
  /** Hosts and schemes to which programs that registered may redirect. Absent: `defaultRedirects`. */
  readonly oauthRedirects?: readonly string[]
  /** Hosts whose programs may connect, and `dcr` for programs that registered. Absent: all. */
  readonly oauthClients?: readonly string[]
  /** How mail is sent. Absent: the service sends none. */
  readonly mail?: MailConfig
  /** `required`: users confirm their address before they create, invite, publish or connect. Absent: `off`. */
  readonly emailVerification?: 'off' | 'required'
  /** False: users sign in and sign up only through providers. Absent: also with a password. */
  readonly passwordLogin?: boolean
  /** The services through which users sign in. Absent: there are none. */
  readonly oidc?: readonly OidcProvider[]
  /** The model for searches by meaning. Absent: searches go by words only. */
  readonly embeddings?: EmbeddingsConfig
  /** This service among several on one database. Absent: it is the only one. */
  readonly cell?: CellConfig
  /** The cost of new password hashes, for tests. No environment variable sets it. */
  readonly passwordCost?: PasswordCost
  /** Milliseconds for which a search waits for its index, for tests. No environment variable sets it. */
  readonly searchWaitMs?: number
}

interface MailConfig {
  /** `smtps://…`, or `smtp://…` with STARTTLS, perhaps with a user and a password. */
  readonly smtpUrl: string
  /** True if the server is on this machine. It then needs no TLS. */
  readonly isLocal: boolean
  /** `Name <address>`, or only the address. */
  readonly from: string
}

interface CellConfig {
  /** The name of its data folder, unique among all cells. */
  readonly name: string
  /** The URL at which other cells reach it, without a trailing slash. */
  readonly url: string
}

/** argon2id with one lane. */
interface PasswordCost {
  readonly memoryKib: number
  readonly passes: number
}

type LogLevel = (typeof logLevels)[number]

type LogRequests = (typeof logRequests)[number]

const logRequests = ['off', 'errors', 'all'] as const

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

const signupModes = ['open', 'invite', 'closed'] as const

/** Connections to PostgreSQL. */
const defaultPool = 8

/** Days in the trash. `purge` needs `--force` to remove what was deleted more recently than `shortest`. */
const proposalDays = { shortest: 0, default: 90, longest: 3_650 } as const
const trashDays = { shortest: 14, default: 30, longest: 3_650 } as const

/** Days for which events are kept. */
const eventDays = { shortest: 1, default: 30, longest: 3_650 } as const
/** Days for which the audit is kept. */
const auditDays = 365
const longestAuditDays = 36_500

/** The accepted values of `sslmode`. Any other would be weaker than its name says. */
const tlsModes: readonly (string | null)[] = [null, 'disable', 'require', 'verify-ca', 'verify-full']

const secretKey = z
  .string()
  .refine(isKey, 'must be 32 bytes in base64, as openssl rand -base64 32 prints them')
  .optional()

const namedNetworks = ['loopback', 'linklocal', 'uniquelocal']

const environment = z.object({
  PORT: wholeNumber(0, 65_535).default(3000),
  HOST: z.string().default('127.0.0.1'),
  DATA_DIR: z.string().default('./repos'),
  PUBLIC_URL: webAddress(
    isBaseUrl,
    'must be an http or https URL without a query, a fragment or a user, such as https://grove.example',
  ).optional(),
  TRUST_PROXY: z
    .string()
    .transform(splitList)
    .refine(areNetworks, 'must be a list such as loopback, 10.0.0.0/8')
    .optional(),
  LOG_LEVEL: oneOf(logLevels).default('info'),
  LOG_REQUESTS: oneOf(logRequests).default('all'),
  RATE_LIMIT: oneOf(['on', 'off']).default('on'),
  METRICS_TOKEN: z
    .string()
    .regex(/^[\w.~+/-]{16,}=*$/, 'must have at least 16 letters, digits or any of . _ ~ + / -')
    .optional(),
  HIDE_EMAIL: oneOf(['off', 'default']).default('off'),
  WORKERS: wholeNumber(1, 64).default(1),
  SIGNUP: oneOf(signupModes).default('open'),
  SEARCH_MEMORY: wholeNumber(16, 65_536).default(256),
  PUSH_CPU_SECONDS: wholeNumber(1, 3_600).default(60),
  SECRET_KEY: secretKey,
  SECRET_KEY_OLD: secretKey,
  TRASH_DAYS: wholeNumber(trashDays.shortest, trashDays.longest).default(trashDays.default),
  PROPOSAL_DAYS: wholeNumber(proposalDays.shortest, proposalDays.longest).default(proposalDays.default),
  DISK_RESERVE: wholeNumber(0, 1_024).default(16),
  QUOTA_NODES: wholeNumber(0, 1_000_000_000).default(0),
  QUOTA_BYTES: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(0),
  QUOTA_ORGS: wholeNumber(0, 1_000_000).default(100),
  EVENT_RETENTION_DAYS: wholeNumber(eventDays.shortest, eventDays.longest).default(eventDays.default),
  AUDIT_RETENTION_DAYS: wholeNumber(0, longestAuditDays).default(auditDays),
  AUDIT_FETCHES: oneOf(['on', 'off']).default('on'),
  DATABASE_URL: z
    .string()
    .refine(isPostgres, 'must be the URL of a database, such as postgres://grove:password@localhost/grove')
    .refine(hasKnownMode, 'sslmode must be disable, require, verify-ca or verify-full')
    .optional(),
  DATABASE_POOL: wholeNumber(1, 1_000).default(defaultPool),
  FETCH_ALLOW: z
    .string()
    .transform(splitList)
    .superRefine((list, context) => {
      const wrong = list.find((one) => !isAllowEntry(one))
      if (wrong !== undefined) context.addIssue({ code: 'custom', message: wrongAllowEntry(wrong) })
    })
    .optional(),
  WEBHOOK_HTTP: oneOf(['on', 'off']).default('off'),
  OAUTH: oneOf(['on', 'off']).default('on'),
  OAUTH_REDIRECTS: z
    .string()
    .transform(splitList)
    .refine(
      (list) => list.every(isRedirectEntry),
      'must be a list of URIs without a query, of host names, and of schemes such as cursor:',
    )
    .default([...defaultRedirects]),
  OAUTH_CLIENTS: z
    .string()
    .transform(splitList)
    .refine((list) => list.every(isClientEntry), 'must be a list of host names, perhaps with dcr')
    .optional(),
  SMTP_URL: z
    .string()
    .refine(isSmtp, 'must be the URL of a mail server, such as smtps://user:password@mail.example.org')
    .optional(),
  MAIL_FROM: z
    .string()
    .refine(isSender, 'must be an e-mail address, or a name with one, such as Grove <grove@example.org>')
    .optional(),
  EMAIL_VERIFICATION: oneOf(['off', 'required']).default('off'),
  PASSWORD_LOGIN: oneOf(['on', 'off']).default('on'),
  EMBEDDINGS: oneOf(['off', 'local', 'endpoint']).default('off'),
  EMBEDDINGS_URL: z
    .string()
    .refine(
      isEndpointUrl,
      'must be the URL of an API without /embeddings, a query, a fragment or a user, such as https://api.example/v1',
    )
    .optional(),
  EMBEDDINGS_MODEL: z
    .string()
    .regex(/^[^\p{Cc}]{1,200}$/u, 'must have 1 to 200 characters, and no control characters')
    .optional(),
  EMBEDDINGS_KEY: z
    .string()
    .regex(/^[\x21-\x7e]{1,4096}$/, 'must have at most 4,096 ASCII characters, and no spaces')
    .optional(),
  EMBEDDINGS_DIMENSIONS: wholeNumber(1, limits.dimensions).optional(),
  EMBEDDINGS_TEXT_PREFIX: z.string().max(500, 'must have at most 500 characters').optional(),
  EMBEDDINGS_QUERY_PREFIX: z.string().max(500, 'must have at most 500 characters').optional(),
  EMBEDDINGS_LANGUAGES: z
    .string()
    .transform(splitList)
    .refine((list) => list.every((one) => /^[a-z]{2}$/.test(one)), 'must be a list of codes such as en, de')
    .optional(),
  EMBEDDINGS_ORGS: z
    .string()
    .transform(splitList)
    .refine(areEmbeddingsOrgs, 'must be asked, all, or a list of ids of organisations')
    .optional(),
  EMBEDDINGS_RATE: wholeNumber(1, 100_000).default(300),
  EMBEDDINGS_BUDGET: wholeNumber(leastBudget, Number.MAX_SAFE_INTEGER).optional(),
  EMBEDDINGS_HTTP: oneOf(['on', 'off']).default('off'),
  EMBEDDINGS_ALLOW: z
    .string()
    .transform(splitList)
    .refine(
      areAllowEntries,
      'must be a list of IP addresses, networks and host names, such as 10.1.2.0/24, gpu.internal',
    )
    .optional(),
  EMBEDDINGS_PUBLIC: oneOf(['on', 'off']).default('off'),
  CELL: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must have 1 to 63 of a-z, 0-9 and -, and must not begin with -')
    .optional(),
  CELL_URL: webAddress(
    isOrigin,
    'must be an http or https URL without a path, a query or a user, such as http://10.0.0.1:3000',
  ).optional(),
})

function wholeNumber(least: number, most: number) {
  const isAllowed = (text: string) => /^\d+$/.test(text.trim()) && Number(text) >= least && Number(text) <= most
  return z
    .string()
    .refine(isAllowed, otherwise(`must be a whole number from ${least} to ${most}`))
    .transform(Number)
}

function oneOf<const Values extends readonly string[]>(values: Values) {
  return z.enum(values, otherwise(`must be one of ${values.join(', ')}`))
}

/** Quotes the value. Not for URLs, which may hold a password. */
function otherwise(allowed: string) {
  return { error: ({ input }: { input?: unknown }) => `${allowed}, not ${JSON.stringify(excerpt(String(input)))}` }
}

/** @param allowed the message for every kind of invalid URL */
function webAddress(isAllowed: (address: string) => boolean, allowed: string) {
  return z.url({ protocol: /^https?$/, error: allowed, abort: true }).refine(isAllowed, allowed)
}

/** True for a base URL, to which paths can be appended. */
function isBaseUrl(address: string): boolean {
  if (!URL.canParse(address)) return false
  const { username, password } = new URL(address)
  return username === '' && password === '' && !/[?#]/.test(address)
}

/** True if the URL has no path. Cells call the service itself, not a path on a proxy. */
function isOrigin(address: string): boolean {
  return isBaseUrl(address) && new URL(address).pathname === '/'
}

/** True for 32 bytes in base64. `Buffer.from` alone would ignore other characters. */
function isKey(text: string): boolean {
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === 32 && bytes.toString('base64') === text
}

function isPostgres(address: string): boolean {
  return URL.canParse(address) && /^postgres(ql)?:$/.test(new URL(address).protocol)
}

function hasKnownMode(address: string): boolean {
  return !URL.canParse(address) || tlsModes.includes(new URL(address).searchParams.get('sslmode'))
}

/** True for a mail server. A path or a query would be ignored, so it is a mistake. */
function isSmtp(address: string): boolean {
  if (!URL.canParse(address)) return false
  const { protocol, hostname, pathname, search, hash } = new URL(address)
  return /^smtps?:$/.test(protocol) && hostname !== '' && /^\/?$/.test(pathname) && search === '' && hash === ''
}

function isSender(text: string): boolean {
  return /^(?:[^\p{Cc}<>@"]+ <[^\s<>@"]+@[^\s<>@"]+>|[^\s<>@"]+@[^\s<>@"]+)$/u.test(text)
}

function splitList(text: string): string[] {
  return text.split(',').map((one) => one.trim())
}

/** True for a host name, or for the word `dcr`. */
function isClientEntry(entry: string): boolean {
  return !entry.endsWith(':') && isRedirectEntry(entry)
}

function areNetworks(list: readonly string[]): boolean {
  return list.every((one) => namedNetworks.includes(one) || parseNetwork(one) !== undefined)
}

/** Names the entry, because a list can be long. */
function wrongAllowEntry(entry: string): string {
  const allowed = 'must be a list of IP addresses, networks and host names, such as 10.1.2.0/24, hooks.internal'
  return `${allowed}, not ${JSON.stringify(excerpt(entry))}`
}

/** Invalid configuration; the message names each variable. */
export class ConfigError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ConfigError'
  }
}

/** @throws ConfigError */
function parse(given: Readonly<Record<string, string | undefined>>) {
  const { success, data, error } = environment.safeParse(given)
  if (success) return data
  throw new ConfigError(error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '))
}

/** @throws ConfigError */
export function readConfig(variables: NodeJS.ProcessEnv = process.env): Config {
  const given = withSecrets(givenOf(variables))
  const data = parse(given)
  const oidc = providersOf(given)
  if (data.PASSWORD_LOGIN === 'off' && oidc.length === 0)
    throw new ConfigError('PASSWORD_LOGIN: off needs a provider (OIDC_<ID>_ISSUER), or nobody can sign in')
  return {
    port: data.PORT,
    host: data.HOST,
    dataDir: resolve(data.DATA_DIR),
    ...(data.PUBLIC_URL === undefined ? {} : { publicUrl: data.PUBLIC_URL.replace(/\/+$/, '') }),
    ...(data.TRUST_PROXY === undefined ? {} : { trustProxy: data.TRUST_PROXY }),
    logLevel: data.LOG_LEVEL,
    logRequests: data.LOG_REQUESTS,
    rateLimit: data.RATE_LIMIT === 'on',
    ...(data.METRICS_TOKEN === undefined ? {} : { metricsToken: data.METRICS_TOKEN }),
    hideEmail: data.HIDE_EMAIL === 'default',
    workers: data.WORKERS,
    signup: data.SIGNUP,
    searchMemory: data.SEARCH_MEMORY * 1_048_576,
    pushCpuSeconds: data.PUSH_CPU_SECONDS,
    ...secretKeysOf(data),
    trashDays: data.TRASH_DAYS,
    proposalDays: data.PROPOSAL_DAYS,
    diskReserve: data.DISK_RESERVE * 1_048_576,
    quotaNodes: data.QUOTA_NODES,
    quotaBytes: data.QUOTA_BYTES,
    quotaOrgs: data.QUOTA_ORGS,
    eventRetentionDays: data.EVENT_RETENTION_DAYS,
    auditRetentionDays: data.AUDIT_RETENTION_DAYS,
    auditFetches: data.AUDIT_FETCHES === 'on',
    ...(data.DATABASE_URL === undefined ? {} : { databaseUrl: data.DATABASE_URL }),
    databasePool: data.DATABASE_POOL,
    ...(data.FETCH_ALLOW === undefined ? {} : { fetchAllow: data.FETCH_ALLOW }),
    webhookHttp: data.WEBHOOK_HTTP === 'on',
    oauth: data.OAUTH === 'on',
    oauthRedirects: data.OAUTH_REDIRECTS,
    ...(data.OAUTH_CLIENTS === undefined ? {} : { oauthClients: data.OAUTH_CLIENTS }),
    ...mailOf(data),
    emailVerification: data.EMAIL_VERIFICATION,
    passwordLogin: data.PASSWORD_LOGIN === 'on',
    ...(oidc.length === 0 ? {} : { oidc }),
    ...modelOf(data, given),
    ...cellOf(data),
  }
}

/** @throws ConfigError */
function modelOf(data: ReturnType<typeof parse>, given: Readonly<Record<string, string | undefined>>) {
  const { problem, ...found } = embeddingsOf(data, given)
  if (problem !== undefined) throw new ConfigError(`${problem.variable}: ${problem.message}`)
  return found
}

/** @throws ConfigError */
function mailOf(data: ReturnType<typeof parse>) {
  const { SMTP_URL: smtpUrl, MAIL_FROM: from, PUBLIC_URL: publicUrl } = data
  if (smtpUrl === undefined) {
    if (from !== undefined) throw new ConfigError('MAIL_FROM: needs SMTP_URL, the mail server')
    if (data.EMAIL_VERIFICATION === 'required')
      throw new ConfigError('EMAIL_VERIFICATION: required needs SMTP_URL, or nobody can confirm an address')
    return {}
  }
  if (from === undefined) throw new ConfigError('SMTP_URL: needs MAIL_FROM, the sender of mails')
  if (publicUrl === undefined) throw new ConfigError('SMTP_URL: needs PUBLIC_URL, to which links in mails lead')
  return { mail: { smtpUrl, from, isLocal: isLoopback(new URL(smtpUrl).hostname) } }
}

/** @throws ConfigError */
function secretKeysOf({ SECRET_KEY: secretKey, SECRET_KEY_OLD: secretKeyOld }: ReturnType<typeof parse>) {
  if (secretKey === undefined && secretKeyOld !== undefined)
    throw new ConfigError('SECRET_KEY_OLD: needs SECRET_KEY, which replaces it')
  return { ...(secretKey === undefined ? {} : { secretKey }), ...(secretKeyOld === undefined ? {} : { secretKeyOld }) }
}

/** @throws ConfigError */
function providersOf(given: Readonly<Record<string, string | undefined>>): readonly OidcProvider[] {
  const { providers, problems } = readProviders(given)
  if (problems.length === 0) return providers
  throw new ConfigError(problems.map(({ variable, message }) => `${variable}: ${message}`).join('; '))
}

/** @throws ConfigError */
function cellOf({ CELL: name, CELL_URL: url, DATABASE_URL: database }: ReturnType<typeof parse>) {
  if (name === undefined && url === undefined) return {}
  if (name === undefined) throw new ConfigError('CELL_URL: needs CELL, the name of this cell')
  if (database === undefined) throw new ConfigError('CELL: needs DATABASE_URL, the database of all cells')
  if (url === undefined) throw new ConfigError('CELL: needs CELL_URL, at which the other cells reach this one')
  return { cell: { name, url: url.replace(/\/+$/, '') } }
}

/** Returns the database that holds accounts. Undefined: credentials.sqlite holds them. */
export function postgresOf({ databaseUrl, databasePool = defaultPool }: Config): PostgresAddress | undefined {
  return databaseUrl === undefined ? undefined : { url: databaseUrl, connections: databasePool }
}

/** Variables that hold secrets. `<NAME>_FILE` may name a file with the secret instead. */
const secretVariables = [
  'METRICS_TOKEN',
  'DATABASE_URL',
  'SECRET_KEY',
  'SECRET_KEY_OLD',
  'SMTP_URL',
  'EMBEDDINGS_KEY',
] as const

/** Every variable that the service reads. */
export const variableNames: readonly string[] = [
  ...Object.keys(environment.shape),
  ...secretVariables.map((name) => `${name}_FILE`),
]

export interface EffectiveVariable {
  readonly name: string
  /** `set` for a secret. A database URL has no password. Empty if unset and without a default. */
  readonly value: string
  readonly isDefault: boolean
}

/** Returns the value that the service uses for each variable. @throws ConfigError */
export function effectiveVariables(variables: NodeJS.ProcessEnv = process.env): EffectiveVariable[] {
  const given = withSecrets(givenOf(variables))
  const parsed: Readonly<Record<string, unknown>> = parse(given)
  providersOf(given)
  const own = Object.keys(environment.shape).map((name) => {
    const isSecret = secretVariables.some((secret) => secret === name)
    const value = name === 'DATA_DIR' ? resolve(String(parsed[name])) : String(parsed[name] ?? '')
    const isDefault = given[name] === undefined
    return { name, value: isSecret && !isDefault ? shown(name, value) : value, isDefault }
  })
  const ofProviders = oidcVariables(given).flatMap((name) => {
    const value = name.endsWith('_FILE') ? undefined : given[name]
    return value === undefined ? [] : [{ name, value: name.endsWith('_SECRET') ? 'set' : value, isDefault: false }]
  })
  return [...own, ...ofProviders]
}

/** Hides a secret. The query of a database URL may also hold a password. */
function shown(name: string, value: string): string {
  if (name !== 'DATABASE_URL') return 'set'
  const { protocol, username, host, pathname } = new URL(value)
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`
}

/** An empty variable counts as unset. */
function givenOf(variables: NodeJS.ProcessEnv): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''))
}

/** Returns the variables with the secrets that their files hold. @throws ConfigError */
function withSecrets(given: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const all = { ...given }
  for (const name of [...secretVariables, ...oidcSecrets(given)]) {
    const file = given[`${name}_FILE`]
    if (file === undefined) continue
    if (given[name] !== undefined) throw new ConfigError(`${name} and ${name}_FILE: only one of them may be set`)
    try {
      all[name] = readFileSync(file, 'utf8').trim()
    } catch (error) {
      throw new ConfigError(`${name}_FILE: ${error instanceof Error ? error.message : error}`)
    }
  }
  return all
}

/** Variables with which the first process configures its workers. Not for operators. */
export interface WorkerOrders {
  /** From 1. A replacement gets the number of the dead worker. */
  readonly worker: number
  /** The shared port; 0 until the first worker has chosen one. */
  readonly port: number
  /** True if this worker runs the background jobs. Exactly one does. */
  readonly sweeps: boolean
}

export function workerEnvironment({ worker, port, sweeps }: WorkerOrders): Record<string, string> {
  return { PORT: String(port), GROVE_WORKER: String(worker), GROVE_WORKER_SWEEPS: sweeps ? 'yes' : 'no' }
}

/** Returns the number of this worker, or 1 in a process without `workerEnvironment`. */
export function workerNumber(variables: NodeJS.ProcessEnv = process.env): number {
  return Number(variables.GROVE_WORKER ?? 1)
}

/** Returns the remote Grove that `grove mcp` uses. The service itself reads neither variable. */
export function readRemote(variables: NodeJS.ProcessEnv = process.env): {
  readonly to?: string
  readonly token?: string
} {
  const { GROVE_URL: to, GROVE_TOKEN: token } = givenOf(variables)
  return { ...(to === undefined ? {} : { to }), ...(token === undefined ? {} : { token }) }
}
