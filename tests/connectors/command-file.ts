export { commandFile } from '../e2e/http/command-file.js'
