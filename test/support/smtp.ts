/** A mail server on the loopback interface. */
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { closeAfterFile } from './processes.ts'
import { until } from './until.ts'

/** A mail that the server got. */
export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** All bytes, with the headers. */
  readonly raw: string
  /** Header names in lower case. Folded lines are joined, and encoded words decoded. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly html: string
  readonly isSecure: boolean
}

export interface MailServer {
  readonly url: string
  readonly port: number
  /** The mails that were accepted, in order. */
  readonly received: ReceivedMail[]
  /** Decides what happens to each mail. Undefined: it is accepted. */
  answer: ((mail: ReceivedMail) => SmtpAnswer | Promise<SmtpAnswer>) | undefined
  /** Waits for the mail with this number, from 1, to an address. Mails that confirm an address do not count. */
  mailTo(address: string, number?: number): Promise<ReceivedMail>
  /** Waits for the mail with this number, from 1, that confirms an address. */
  verificationTo(address: string, number?: number): Promise<ReceivedMail>
  close(): Promise<void>
}

/** Undefined: accepted. A number: refused with this code. */
type SmtpAnswer = number | undefined

/** Starts a server that accepts every mail, without TLS. */
export async function startMailServer(options: SMTPServerOptions = {}, host = '127.0.0.1'): Promise<MailServer> {
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, { envelope, secure }, callback) {
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', async () => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        const to = envelope.rcptTo.map(({ address }) => address)
        const mail = { from, to, isSecure: secure, ...parsed(Buffer.concat(parts).toString('latin1')) }
        const code = await server.answer?.(mail)
        if (code === undefined) server.received.push(mail)
        callback(code === undefined ? null : Object.assign(new Error('Refused'), { responseCode: code }))
      })
    },
    ...options,
  })
  // A client that is killed resets its connection.
  smtp.on('error', () => {})
  await new Promise<void>((resolve) => smtp.listen(0, host, resolve))
  const address = smtp.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const server: MailServer = {
    url: `smtp://127.0.0.1:${port}`,
    port,
    received: [],
    answer: undefined,
    mailTo: (to, number = 1) => nth(number, (mail) => mail.to.includes(to) && !isVerification(mail)),
    verificationTo: (to, number = 1) => nth(number, (mail) => mail.to.includes(to) && isVerification(mail)),
    close: closeAfterFile(() => new Promise((resolve) => smtp.close(() => resolve()))),
  }
  const nth = async (number: number, isOne: (mail: ReceivedMail) => boolean) => {
    const found = () => server.received.filter(isOne)[number - 1]
    await until(async () => found() !== undefined)
    return found() as ReceivedMail // the wait has found it
  }
  return server
}

/** True for a mail that confirms an address, as each new account gets one. */
export function isVerification({ text }: ReceivedMail): boolean {
  return text.includes('grv_verify_')
}

function parsed(raw: string): Pick<ReceivedMail, 'raw' | 'headers' | 'text' | 'html'> {
  const { headers, body } = entity(raw)
  const boundary = /boundary="([^"]+)"/.exec(headers['content-type'] ?? '')?.[1]
  const parts = boundary === undefined ? [raw] : body.split(`--${boundary}`).slice(1, -1)
  const partOf = (type: string) => {
    const found = parts
      .map((part) => entity(part.replace(/^\r\n/, '')))
      .find(({ headers: of }) => of['content-type']?.startsWith(type))
    return found === undefined ? '' : decoded(found)
  }
  return { raw, headers, text: partOf('text/plain'), html: partOf('text/html') }
}

function entity(raw: string) {
  const at = raw.indexOf('\r\n\r\n')
  const lines = raw
    .slice(0, at)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split(':')
      return [name.toLowerCase(), decodedWords(value.join(':').trim())]
    }),
  )
  return { headers, body: raw.slice(at + 4) }
}

function decoded(part: ReturnType<typeof entity>): string {
  return bodyOf(part).replaceAll('\r\n', '\n')
}

function bodyOf({ headers, body }: ReturnType<typeof entity>): string {
  const encoding = headers['content-transfer-encoding']?.toLowerCase()
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8')
  if (encoding === 'quoted-printable') return quotedPrintable(body.replace(/=\r\n/g, ''))
  return Buffer.from(body, 'latin1').toString('utf8')
}

function quotedPrintable(text: string): string {
  const bytes = text.replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

function decodedWords(value: string): string {
  return value
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_, kind: string, text: string) =>
      kind.toLowerCase() === 'b'
        ? Buffer.from(text, 'base64').toString('utf8')
        : quotedPrintable(text.replace(/_/g, ' ')),
    )
}

/** Returns the only token in a mail's text. */
export function tokenIn({ text }: ReceivedMail): string {
  return /grv_[a-z]+_[\w-]+/.exec(text)?.[0] ?? ''
}
