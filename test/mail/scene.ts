/** Shared by the tests of mail: a mail server, and a service that uses it. */
import { v4 as randomUuid } from 'uuid'
import { type Grove, type GroveOptions, startGrove } from '../support/grove.ts'
import { type MailServer, startMailServer } from '../support/smtp.ts'

export let grove: Grove
export let smtp: MailServer

let time = 0

/** Moves the service's clock. */
export const pass = (seconds: number) => {
  time += seconds * 1000
}

/** Starts both for the file. */
export function useMail(options: GroveOptions = {}): void {
  before(async () => {
    time = Date.parse('2026-01-01T00:00:00Z')
    smtp = await startMailServer()
    grove = await startGrove({ smtpUrl: smtp.url, now: () => new Date(time), ...options })
  })
  beforeEach(() => {
    smtp.answer = undefined
  })
  after(() => grove.close())
}

/** An address that no other test uses. */
export const newAddress = () => `${randomUuid()}@example.org`
