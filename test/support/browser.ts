/**
 * Debian's Chromium: `apt-get install chromium-headless-shell`. It has no windows, and uses a third less CPU time than
 * `chromium`.
 */
import { type Browser, chromium } from 'playwright-core'

/** Milliseconds to wait for a browser or a page, on a busy machine. */
export const patience = 120_000

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: '/usr/bin/chromium-headless-shell',
    timeout: patience,
    // Tests run as root in containers, whose /dev/shm may be small.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  })
}
