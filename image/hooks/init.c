/*
 * The first process of a machine, which then becomes systemd. A machine counts as running from its agent's first
 * answer, and systemd takes longer to start its first unit than the agent to listen. So both start at the same time,
 * and the network's client with them. systemd's units take over the two processes, or start them where there are none
 * (../overlay/usr/lib/computer/take-over). Whatever fails here, systemd starts all the same.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char systemd[] = "/lib/systemd/systemd";
static const char folder[] = "/run/computer";
static const char old_tmp[] = "/.old-tmp";

enum { agent_files = 65536 };

typedef struct {
  char *const *command;
  const char *pid_file;
  const char *oom_score;
  int file_limit;
} Early;

static char *agent_command[] = {"/opt/computer/bin/agent", NULL};
static const Early agent = {agent_command, "/run/computer/agent.pid", "-500", agent_files};

static char *network_command[] = {"/usr/lib/computer/get-address", NULL};
static const Early network = {network_command, "/run/computer/network.pid", NULL, 0};

static void write_text(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return;
  ssize_t written = write(file, text, strlen(text));
  (void)written;
  close(file);
}

/* /run as systemd would mount it, which leaves one that it finds alone. */
static int mount_run(void) {
  struct stat run, root;
  if (stat("/run", &run) == 0 && stat("/", &root) == 0 && run.st_dev != root.st_dev) return 1;
  unsigned long flags = MS_NOSUID | MS_NODEV | MS_STRICTATIME;
  return mount("tmpfs", "/run", "tmpfs", flags, "mode=0755,size=20%,nr_inodes=800k") == 0;
}

static int is_empty(const char *path) {
  DIR *entries = opendir(path);
  if (!entries) return 1;
  int count = 0;
  while (count < 3 && readdir(entries)) count++;
  closedir(entries);
  return count < 3;
}

/*
 * Empties /tmp, as systemd-tmpfiles would in the middle of the boot (../overlay/etc/tmpfiles.d): callers of the agent
 * may have written there by then. It may hold a million files, so another takes its place, and a unit removes it. On a
 * disk that is too full for that, its files are removed here.
 */
static void empty_tmp(void) {
  struct stat tmp;
  if (lstat("/tmp", &tmp) != 0 || !S_ISDIR(tmp.st_mode) || is_empty("/tmp")) return;
  char fresh[64];
  snprintf(fresh, sizeof fresh, "%s/%lld", old_tmp, (long long)time(NULL));
  mkdir(old_tmp, 0700);
  int is_made = mkdir(fresh, 0) == 0 && chmod(fresh, 01777) == 0;
  if (is_made && renameat2(AT_FDCWD, fresh, AT_FDCWD, "/tmp", RENAME_EXCHANGE) == 0) return;
  pid_t pid = fork();
  if (pid == 0) {
    execl("/usr/bin/find", "find", "/tmp", "-xdev", "-mindepth", "1", "-delete", NULL);
    _exit(127);
  }
  if (pid > 0) waitpid(pid, NULL, 0);
}

/* The variables of /etc/environment, as systemd gives them to the agent's unit. */
static void read_environment(void) {
  char line[4096];
  clearenv();
  setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
  FILE *file = fopen("/etc/environment", "re");
  if (!file) return;
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    char *value = strchr(line, '=');
    if (!value || value == line || line[0] == '#') continue;
    *value++ = 0;
    size_t length = strlen(value);
    if (length >= 2 && (*value == '"' || *value == '\'') && value[length - 1] == *value) {
      value[length - 1] = 0;
      value++;
    }
    setenv(line, value, 1);
  }
  fclose(file);
}

static void become(const Early *early) {
  setsid();
  umask(022);
  int in = open("/dev/null", O_RDONLY);
  /* The journal does not run yet. The engine keeps the console's output, outside the machine. */
  int out = open("/dev/console", O_WRONLY | O_NOCTTY);
  if (out < 0) out = open("/dev/null", O_WRONLY);
  dup2(in, 0);
  dup2(out, 1);
  dup2(out, 2);
  close_range(3, UINT_MAX, 0);
  /* Not permitted in most containers; the agent goes on without it. */
  if (early->oom_score) write_text("/proc/self/oom_score_adj", early->oom_score);
  if (early->file_limit) {
    struct rlimit limit = {early->file_limit, early->file_limit};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  read_environment();
  execv(early->command[0], early->command);
  _exit(127);
}

static pid_t start(const Early *early) {
  pid_t pid = fork();
  if (pid == 0) become(early);
  if (pid > 0) {
    char text[24];
    snprintf(text, sizeof text, "%d\n", pid);
    write_text(early->pid_file, text);
  }
  return pid;
}

int main(int argc, char **argv) {
  (void)argc;
  /* Under its name the image's `init 0` and `telinit` are called too. */
  int is_first = getpid() == 1;
  if (is_first) empty_tmp();
  if (is_first && access(agent_command[0], X_OK) == 0 && mount_run()) {
    mkdir(folder, 0755);
    start(&agent);
    if (access("/sys/class/net/eth0", F_OK) == 0) start(&network);
  }
  execv(systemd, argv);
  return 1;
}
