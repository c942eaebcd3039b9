/** A service to test in this process, with its own data folder. `spawned-grove.ts` starts one as a child process. */

import { rm } from 'node:fs/promises'
import { pino } from 'pino'
import type { Config } from '../../server/base/config.ts'
import type { Services } from '../../server/domain/services.ts'
import { startService } from '../../server/process/service.ts'
import { newDataDir } from './data-folder.ts'
import { databaseFor } from './postgres.ts'
import { closeAfterFile } from './processes.ts'
import { settled } from './settled.ts'

export interface Grove {
  readonly url: string
  readonly dataDir: string
  readonly deps: Services
  /** The log so far, if `logLevel` was given. */
  logged(): string
  /** Resolves when nothing is due at the service's clock, and nothing runs. @throws Error after five minutes */
  settled(): Promise<void>
  /** Stops the service. Removes the data folder unless it was given. */
  close(): Promise<void>
}

export interface GroveOptions {
  /** Default: a new folder in the system's folder for temporary files. */
  readonly dataDir?: string
  readonly rateLimit?: boolean
  readonly now?: () => Date
  readonly publicUrl?: string
  /** Default: errors, which go to standard error. */
  readonly logLevel?: Config['logLevel']
  readonly logRequests?: Config['logRequests']
  readonly metricsToken?: string
  /** False: nothing is repaired in the background. */
  readonly sweeps?: boolean
  readonly signup?: Config['signup']
  /** True: credentials are in PostgreSQL, in a database of this data folder. A string: in the database of that URL. */
  readonly postgres?: boolean | string
  /** Makes it one of several services on one database, which `postgres` must name. */
  readonly cell?: Config['cell']
  /** True: passwords cost as much as in production, 40 ms each. */
  readonly slowPasswords?: boolean
  /** Seconds; default: 60. */
  readonly pushCpuSeconds?: number
  /** Days; default: a year. */
  readonly auditRetentionDays?: number
  /** Default: true. */
  readonly auditFetches?: boolean
  /** Hosts that are not public to which requests are sent. Default: 127.0.0.1. */
  readonly fetchAllow?: readonly string[]
  /** The most nodes of an organisation. */
  readonly quotaNodes?: number
  /** The most bytes of an organisation. */
  readonly quotaBytes?: number
  /** The most organisations that a user may own. Default: no limit. */
  readonly quotaOrgs?: number
  /** Default: webhooks may have http URLs. */
  readonly webhookHttp?: boolean
  readonly secretKey?: string
  /** The former one. */
  readonly secretKeyOld?: string
  /** The URL of a mail server. Default: the service sends no mail. `publicUrl` has a default with it. */
  readonly smtpUrl?: string
  /** Default: the mail server needs no TLS. */
  readonly isMailLocal?: boolean
  readonly emailVerification?: Config['emailVerification']
  readonly oidc?: Config['oidc']
  /** False: users sign in only through providers. */
  readonly passwordLogin?: boolean
  /** Fetches documents of programs. Default: as in production. */
  readonly fetchDocument?: Services['fetchDocument']
  /** Search by meaning. Default: none. */
  readonly embeddings?: Config['embeddings']
  /** Proxies whose X-Forwarded headers are trusted. Default: none. */
  readonly trustProxy?: readonly string[]
  /** False: programs cannot connect by OAuth. */
  readonly oauth?: boolean
  /** Hosts whose programs may connect. Default: all. */
  readonly oauthClients?: readonly string[]
  /** Milliseconds for which a search waits for its index. Default: until it is whole. */
  readonly searchWaitMs?: number
}

/** The minimum that argon2 accepts. */
export const passwordCost = { memoryKib: 1024, passes: 2 }

/** The sender of mails. */
const mailFrom = 'Grove <grove@grove.example>'

/** Starts a service in 20 ms. A child process would take a second. Answers are checked against the spec. */
export async function startGrove(options: GroveOptions = {}): Promise<Grove> {
  const dataDir = options.dataDir ?? (await newDataDir())
  const {
    rateLimit = false,
    now,
    metricsToken,
    logLevel,
    logRequests = 'all',
    sweeps = true,
    slowPasswords = false,
    signup = 'open',
    postgres = process.env.GROVE_TEST_DATABASE_URL !== undefined,
    cell,
    pushCpuSeconds = 60,
    auditRetentionDays = 365,
    auditFetches = true,
    fetchAllow = ['127.0.0.1'],
    quotaNodes = 0,
    quotaBytes = 0,
    quotaOrgs = 0,
    webhookHttp = true,
    secretKey,
    secretKeyOld,
    smtpUrl,
    isMailLocal = true,
    publicUrl = smtpUrl === undefined ? undefined : 'https://grove.example',
    emailVerification,
    oidc,
    passwordLogin = true,
    fetchDocument,
    embeddings,
    trustProxy,
    oauth = true,
    oauthClients,
    searchWaitMs = Number.POSITIVE_INFINITY,
  } = options
  const databaseUrl = postgres === true ? await databaseFor(dataDir) : postgres
  const level = logLevel ?? 'error'
  const searchMemory = 256 * 1_048_576
  const folder = { port: 0, host: '127.0.0.1', dataDir }
  const config = {
    ...folder,
    logLevel: level,
    logRequests,
    rateLimit,
    workers: 1,
    signup,
    searchMemory,
    pushCpuSeconds,
    trashDays: 30,
    proposalDays: 90,
    eventRetentionDays: 30,
    auditRetentionDays,
    auditFetches,
    fetchAllow,
    quotaNodes,
    quotaBytes,
    quotaOrgs,
    webhookHttp,
    passwordLogin,
    oauth,
    searchWaitMs,
  }
  let logged = ''
  const memory = {
    write: (line: string) => {
      logged += line
    },
  }
  const service = await startService(
    {
      ...config,
      ...(publicUrl === undefined ? {} : { publicUrl }),
      ...(metricsToken === undefined ? {} : { metricsToken }),
      ...(slowPasswords ? {} : { passwordCost }),
      ...(databaseUrl === false ? {} : { databaseUrl }),
      ...(cell === undefined ? {} : { cell }),
      ...(secretKey === undefined ? {} : { secretKey }),
      ...(secretKeyOld === undefined ? {} : { secretKeyOld }),
      ...(smtpUrl === undefined ? {} : { mail: { smtpUrl, from: mailFrom, isLocal: isMailLocal } }),
      ...(emailVerification === undefined ? {} : { emailVerification }),
      ...(oidc === undefined ? {} : { oidc }),
      ...(trustProxy === undefined ? {} : { trustProxy }),
      ...(oauthClients === undefined ? {} : { oauthClients }),
      ...(embeddings === undefined ? {} : { embeddings }),
    },
    {
      log: pino({ level }, logLevel === undefined ? pino.destination({ dest: 2, sync: true }) : memory),
      validateResponses: true,
      sweeps,
      ...(fetchDocument === undefined ? {} : { fetchDocument }),
      ...(now === undefined ? {} : { now }),
    },
  )
  return {
    url: service.url,
    dataDir,
    deps: service.deps,
    logged: () => logged,
    settled: () => settled(service.deps),
    close: closeAfterFile(async () => {
      await service.close()
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true })
    }),
  }
}
