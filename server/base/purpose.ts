/** The purpose of Grove, as its pages and commands say it. README, package.json and the spec say the same. */
export const purpose = {
  is: 'wiki where assistants propose and people approve',
  keeps: 'Each page is a Git repository, so nothing is lost or locked in.',
} as const
