/** Sends one mail over SMTP. */
import type { MailContent } from './letter.ts'

export interface Envelope extends MailContent {
  /** The name of the mail, the same for each attempt. A mailbox then shows a repeated one once. */
  readonly id: string
  readonly to: string
}

/** The server said no, or could not be reached. `message` has no address. */
export class MailError extends Error {
  /** True if a later attempt can succeed. */
  readonly isTemporary: boolean

  constructor(message: string, isTemporary: boolean, options?: ErrorOptions) {
    super(message, options)
    this.name = 'MailError'
    this.isTemporary = isTemporary
  }
}

/** Milliseconds to connect, to be greeted, and without an answer. Together less than a claim. */
const waitMs = { connect: 10_000, greeting: 10_000, silence: 15_000 } as const

export interface MailServer {
  readonly smtpUrl: string
  /** True if it is on this machine. It then needs no TLS. */
  readonly isLocal: boolean
  readonly from: string
}

/** @throws MailError */
export async function sendMail(server: MailServer, { id, to, subject, text, html, headers }: Envelope): Promise<void> {
  const transport = await transportOf(server)
  const domain = /@([^\s<>@]+?)>?$/.exec(server.from)?.[1] ?? 'localhost'
  try {
    await transport.sendMail({
      from: server.from,
      to: { name: '', address: to },
      subject,
      text,
      html,
      messageId: `<${id}@${domain}>`,
      headers: { 'Auto-Submitted': 'auto-generated', ...headers },
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  } catch (error) {
    throw mailError(server, error)
  } finally {
    transport.close()
  }
}

/** Connects, signs in, and sends nothing. @throws MailError */
export async function tryMailServer(server: MailServer): Promise<void> {
  const transport = await transportOf(server)
  try {
    await transport.verify()
  } catch (error) {
    throw mailError(server, error)
  } finally {
    transport.close()
  }
}

/** Loads the library when the first mail is sent, because that takes 150 ms. */
async function transportOf({ smtpUrl, isLocal }: MailServer) {
  const { createTransport } = await import('nodemailer')
  const { protocol, hostname, port, username, password } = new URL(smtpUrl)
  const secure = protocol === 'smtps:'
  const host = hostname.replace(/^\[|\]$/g, '')
  return createTransport({
    host,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    // On this machine a server needs no TLS, and rarely has a certificate for the name.
    ...(secure ? {} : isLocal ? { ignoreTLS: true } : { requireTLS: true }),
    ...(username === '' ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: waitMs.connect,
    greetingTimeout: waitMs.greeting,
    socketTimeout: waitMs.silence,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

/** Only a refusal of the mail itself is for good. Refusals of TLS or of the password end when the operator mends them. */
const ofMail: readonly unknown[] = ['MAIL FROM', 'RCPT TO', 'DATA', 'BDAT']

/** Faults before a server answers, by the code of the library. */
const faults: Readonly<Record<string, string>> = {
  ESOCKET: 'cannot be reached',
  ECONNECTION: 'cannot be reached',
  EDNS: 'is not found in DNS',
  ETIMEDOUT: 'does not answer in time',
  ETLS: 'offers no TLS',
}

/** The answer of a server may contain the address, so only its code is kept. */
function mailError({ smtpUrl }: MailServer, cause: unknown): MailError {
  const { responseCode, code, command }: { responseCode?: unknown; code?: unknown; command?: unknown } =
    typeof cause === 'object' && cause !== null ? cause : {}
  const at = typeof command === 'string' && command !== '' ? ` to ${command}` : ''
  if (typeof responseCode === 'number')
    return new MailError(
      `The mail server answered ${responseCode}${at}`,
      responseCode < 500 || !ofMail.includes(command),
      { cause },
    )
  const fault = typeof code === 'string' ? faults[code] : undefined
  // The reasons of these faults name hosts and certificates, never the address of a user.
  const reason = fault !== undefined && cause instanceof Error ? ` (${cause.message.slice(0, 200)})` : ''
  const { host } = new URL(smtpUrl)
  const text = `The mail server ${host} ${fault ?? `failed: ${typeof code === 'string' ? code : 'unknown error'}`}${reason}`
  return new MailError(text, true, { cause })
}
